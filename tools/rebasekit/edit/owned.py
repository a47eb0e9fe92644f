"""A file's text in pieces that know whose they are: upstream's or a hunk's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


class Overlap(Exception):
    """Two hunks change the same text; `owner` is the hunk that was there first."""

    def __init__(self, owner: str) -> None:
        super().__init__(owner)
        self.owner = owner


@dataclass(frozen=True)
class Splice:
    """Replace `text[start:end]` by `new`; an insertion has `start == end`."""

    start: int
    end: int
    new: str


def spliced(text: str, splices: Iterable[Splice]) -> str:
    """The text with splices that do not overlap; those at one offset keep their order."""
    result, at = [], 0
    for splice in sorted(splices, key=lambda s: (s.start, s.end)):
        if splice.start < at:
            raise ValueError("splices overlap")
        result += [text[at : splice.start], splice.new]
        at = splice.end
    return "".join([*result, text[at:]])


@dataclass
class Piece:
    """`owner` None is upstream's, with `origin` its offset in the pristine text; `gone` pieces were taken out."""

    text: str
    owner: str | None = None
    origin: int = 0
    gone: str | None = None  # the hunk that took this upstream piece out


@dataclass
class Owned:
    """Pristine text and the hunks' splices so far. Pieces are in order; each hunk's stay apart."""

    pristine: str
    pieces: list[Piece] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.pieces:
            self.pieces = [Piece(self.pristine)]

    @property
    def text(self) -> str:
        return "".join(p.text for p in self.pieces if p.gone is None)

    def reversed(self) -> str:
        """What is left when every hunk is taken back: the pristine bytes, or the bookkeeping is wrong."""
        return "".join(p.text for p in self.pieces if p.owner is None)

    def copy(self) -> Owned:
        return Owned(self.pristine, [Piece(p.text, p.owner, p.origin, p.gone) for p in self.pieces])

    def splice_pristine(self, owner: str, splices: Iterable[Splice]) -> None:
        """Apply splices whose offsets are in the pristine text; raise Overlap and change nothing."""
        trial = self.copy()
        for splice in splices:
            index = trial._take_pristine(owner, splice.start, splice.end)
            trial._insert(owner, trial._index_after_pristine(splice.end) if index is None else index, splice.new)
        self.pieces = trial.pieces

    def splice_current(self, owner: str, splices: Iterable[Splice]) -> None:
        """Apply splices whose offsets are in the current text, latest first, so that earlier offsets hold."""
        trial = self.copy()
        for splice in sorted(splices, key=lambda s: (s.start, s.end))[::-1]:
            trial._take_current(owner, splice.start, splice.end)
            trial._insert(owner, trial._split_current(splice.start), splice.new)
        self.pieces = trial.pieces

    def _split(self, index: int, at: int) -> None:
        piece = self.pieces[index]
        tail = Piece(piece.text[at:], piece.owner, piece.origin + at, piece.gone)
        self.pieces[index : index + 1] = [Piece(piece.text[:at], piece.owner, piece.origin, piece.gone), tail]

    def _cut_pristine(self, offset: int) -> None:
        """Make sure that a pristine offset lies between two pieces."""
        for index, piece in enumerate(self.pieces):
            if piece.owner is None and piece.origin < offset < piece.origin + len(piece.text):
                self._split(index, offset - piece.origin)
                return

    def _take_pristine(self, owner: str, start: int, end: int) -> int | None:
        """Take upstream's text out; the index behind it, None when there is none to take."""
        if start == end:
            self._refuse_inside(owner, start)
            return None
        self._cut_pristine(start)
        self._cut_pristine(end)
        inside = [
            i
            for i, p in enumerate(self.pieces)
            if p.owner is None and start <= p.origin and p.origin + len(p.text) <= end and p.text
        ]
        for index in range(inside[0], inside[-1] + 1):
            piece = self.pieces[index]
            if piece.owner is not None or piece.gone is not None:
                raise Overlap(piece.owner or piece.gone or "")
            piece.gone = owner
        return inside[-1] + 1

    def _refuse_inside(self, owner: str, offset: int) -> None:
        """Raise Overlap for an insertion into text that another hunk took out."""
        before = after = None
        for piece in self.pieces:
            if piece.owner is None and piece.text:
                before = piece.gone if piece.origin < offset <= piece.origin + len(piece.text) else before
                after = piece.gone if piece.origin <= offset < piece.origin + len(piece.text) else after
        if before and before == after and before != owner:
            raise Overlap(before)

    def _index_after_pristine(self, offset: int) -> int:
        """Index at which an insertion at a pristine offset goes: after what other hunks put there."""
        self._cut_pristine(offset)
        index = 0
        for number, piece in enumerate(self.pieces):
            if piece.owner is None and piece.origin + len(piece.text) <= offset:
                index = number + 1
        while index < len(self.pieces) and self.pieces[index].owner is not None:
            index += 1
        return index

    def _insert(self, owner: str, index: int, text: str) -> None:
        if text:
            self.pieces.insert(index, Piece(text, owner))

    def _split_current(self, offset: int) -> int:
        at = 0
        for index, piece in enumerate(self.pieces):
            if piece.gone is not None:
                continue
            if offset == at:
                return index
            if at < offset < at + len(piece.text):
                self._split(index, offset - at)
                return index + 1
            at += len(piece.text)
        return len(self.pieces)

    def _take_current(self, owner: str, start: int, end: int) -> None:
        if start == end:
            return
        first, last = self._split_current(start), self._split_current(end)
        for piece in self.pieces[first:last]:
            if piece.owner is not None:
                raise Overlap(piece.owner)
            if piece.gone is None:
                piece.gone = owner

    def lines_of(self, owner: str) -> tuple[int, ...]:
        """1-based numbers of the current lines that hold text of the hunk; none for one that only took text out."""
        numbers: set[int] = set()
        line = 1
        for piece in self.pieces:
            if piece.gone is not None:
                continue
            ends = piece.text.count("\n")
            if piece.owner == owner:
                last = line + ends - (1 if piece.text.endswith("\n") else 0)
                numbers.update(range(line, last + 1))
            line += ends
        return tuple(sorted(numbers))

    def owners_of_line(self) -> list[set[str | None]]:
        """For each current line, who has text in it."""
        result: list[set[str | None]] = [set()]
        for piece in self.pieces:
            if piece.gone is not None:
                continue
            for index, part in enumerate(piece.text.split("\n")):
                if index:
                    result.append(set())
                if part or (index == 0 and piece.text):
                    result[-1].add(piece.owner)
        return result
