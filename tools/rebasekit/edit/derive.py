"""From changed lines to forms: what people did to a file, said by structure where that gives the same bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from rebasekit.edit import anchors, blocks, inserts, places, regions, script
from rebasekit.edit.blocks import Unplaceable
from rebasekit.edit.layout import clause_word, to_column_0
from rebasekit.edit.match import Candidate, candidates, matches
from rebasekit.edit.owned import Splice, spliced
from rebasekit.edit.patterns import PatternError, parse_pattern
from rebasekit.edit.scopes import Scope, children, find, module_scope
from rebasekit.edit.script import Change
from rebasekit.edit.source import Source, Unreadable
from rebasekit.model.hunk import Form, Place

_IMPORT = re.compile(r"^(?:import|from)\b", re.MULTILINE)


@dataclass(frozen=True)
class Wish:
    """One change of lines, and what it alone makes of the file."""

    source: Source
    change: Change

    @cached_property
    def parses(self) -> bool:
        """Whether the file is still Python after it."""
        return regions.reread(self.source, regions.around(self.source, self.change), self.change) is not None

    def granted(self, splices: Sequence[Splice]) -> bool:
        """Whether the splices make exactly the same text; only what one of the two touches is looked at."""
        starts = self.source.starts
        first, last = starts[self.change.at - 1], starts[self.change.at - 1 + self.change.gone]
        wanted = Splice(first, last, "".join(self.change.lines))
        low = min(s.start for s in (wanted, *splices))
        text = self.source.text[low : max(s.end for s in (wanted, *splices))]
        given = [Splice(s.start - low, s.end - low, s.new) for s in splices]
        return spliced(text, given) == spliced(text, [Splice(first - low, last - low, wanted.new)])


def forms(file: str, old: Source, changes: Sequence[Change]) -> list[Form]:
    """Forms that make the same changes to the file; in order, edit scripts grouped by scope."""
    found: list[Form] = []
    edits: dict[str, list[Change]] = {}
    free = -1  # no form reaches back to what the one before it touches: their order would mean something
    for index, change in enumerate(changes):
        end = old.starts[changes[index + 1].at - 1] if index + 1 < len(changes) else len(old.text) + 1
        granted = _structural(file, old, change, (free, end))
        if granted is not None:
            form, free = granted
            found.append(form)
        else:
            edits.setdefault(_holding(old, change).label, []).append(change)
            free = old.starts[change.at - 1 + change.gone]
    return found + [_edit(file, old, label, group) for label, group in edits.items()]


def whole(file: str, old: Source, changes: Sequence[Change], place: Place = Place.EDIT) -> Form:
    """All changes as one edit script of the file."""
    return _scripted(file, old, module_scope(old).label, 1, changes, place)


def _edit(file: str, old: Source, label: str, changes: Sequence[Change]) -> Form:
    scope = find(old, label)[0] if label else module_scope(old)
    return _scripted(file, old, label, scope.first, changes, Place.EDIT)


def _scripted(file: str, old: Source, label: str, first: int, changes: Sequence[Change], place: Place) -> Form:
    moved = tuple(Change(c.at - first + 1, c.gone, c.lines) for c in changes)
    ends = {line[len(line.rstrip("\r\n")) :] for c in moved for line in c.lines}
    keep = bool(ends - {old.newline, ""}) or (old.newline == "\r\n" and "" in ends)
    if old.newline == "\r\n" and not keep:
        moved = tuple(change.plain() for change in moved)
    return Form(file, label, place, lines=script.render(moved), keep_newlines=keep)


def _holding(source: Source, change: Change) -> Scope:
    """The innermost scope that holds all changed lines and can be named."""
    holding = module_scope(source)
    for scope in regions.chain(source, change)[1:]:
        if len(find(source, scope.label)) != 1:
            break
        holding = scope
    return holding


def _structural(file: str, source: Source, change: Change, room: tuple[int, int]) -> tuple[Form, int] | None:
    """A form that makes the change between two offsets, and the offset at which it ends."""
    for slid in _slides(source, change):
        wish = Wish(source, slid)
        for form in _options(file, wish):
            end = _end(form, wish, room)
            if end is not None:
                return form, end
    return None


def _slides(source: Source, change: Change) -> Iterator[Change]:
    """The same insertion or deletion, said of other lines: a blank line may belong to either end of a block."""
    yield change
    if change.gone and change.lines:
        return
    lines = source.lines
    for step in (-1, 1):
        now = change
        for _ in range(4):
            moved = _slide(lines, now, step)
            if moved is None:
                break
            now = moved
            yield now


def _slide(lines: list[str], change: Change, step: int) -> Change | None:
    block = list(change.lines) if change.lines else lines[change.at - 1 : change.at - 1 + change.gone]
    beside = change.at - 2 if step < 0 else change.at - 1 + change.gone
    if not 0 <= beside < len(lines) or not block or lines[beside] != block[-1 if step < 0 else 0]:
        return None
    turned = (lines[beside], *block[:-1]) if step < 0 else (*block[1:], lines[beside])
    return Change(change.at + step, change.gone, turned if change.lines else ())


def _end(form: Form, wish: Wish, room: tuple[int, int]) -> int | None:
    """Where the form ends if it makes exactly the wished text, within the room, with an anchor that fits once."""
    try:
        scopes = find(wish.source, form.scope)
        if len(scopes) != 1:
            return None
        found = matches(parse_pattern(form.at), scopes[0]) if form.at else []
        if form.at and len(found) != form.count:
            return None
        splices = places.splices(form, wish.source, scopes[0], found)
        end = max(s.end for s in splices)
        if room[0] < min(s.start for s in splices) and end < room[1] and wish.granted(splices) and wish.parses:
            return end
    except (Unplaceable, Unreadable, PatternError, ValueError, RecursionError):
        pass
    return None


def _options(file: str, wish: Wish) -> Iterator[Form]:
    change = wish.change
    ours = to_column_0("".join(change.lines))
    if change.lines and not ours.strip():
        return  # blank lines alone stand beside nothing
    if not change.gone and _IMPORT.search(ours):
        yield Form(file, "", Place.IMPORT, lines=ours)
    beside = False
    for scope, candidate in _near(wish.source, change):
        for place in _fitting(wish.source, change, candidate, ours):
            beside = True
            for at in anchors.patterns(candidate, scope):
                yield Form(file, scope.label, place, at=at, lines=ours)
    if change.lines and (change.gone or not beside):
        yield from inserts.options(file, wish.source, change)


def _fitting(source: Source, change: Change, candidate: Candidate, ours: str) -> Iterator[Place]:
    """Places at which the changed lines touch a statement."""
    if change.gone:
        if (candidate.first, candidate.last) == (change.at, change.at + change.gone - 1):
            yield Place.REPLACE if change.lines else Place.DELETE
        return
    if word := clause_word(ours):
        if _clause_fits(source, candidate, word, change.at):
            yield Place.AFTER
        if candidate.elif_ and candidate.first == change.at:
            yield Place.BEFORE
        return
    if candidate.last + 1 == change.at:
        yield Place.AFTER
    if candidate.first == change.at:
        yield Place.BEFORE


def _clause_fits(source: Source, candidate: Candidate, word: str, line: int) -> bool:
    try:
        return blocks.clause_end(source, candidate.node, word) == source.starts[line - 1]
    except Unplaceable:
        return False


def _near(source: Source, change: Change) -> Iterator[tuple[Scope, Candidate]]:
    """Statements that begin or end beside the change, innermost scope first."""
    low, high = change.at - 1, change.at + change.gone
    chain = [module_scope(source)]
    found: list[tuple[Scope, Candidate]] = []
    while chain:
        scope = chain.pop()
        found += [(scope, c) for c in candidates(scope) if c.first <= high and low <= c.last]
        chain += [c for c in children(scope) if c.first <= high and low <= c.last]
    yield from reversed(found)


def single(file: str, old: Source, changes: Sequence[Change]) -> Form:
    """All changes as one form: by structure when it is one change, else an edit script of the smallest scope."""
    everywhere = (-1, len(old.text) + 1)
    if len(changes) == 1 and (granted := _structural(file, old, changes[0], everywhere)):
        return granted[0]
    span = Change(changes[0].at, changes[-1].at + changes[-1].gone - changes[0].at, ("",))
    return _edit(file, old, _holding(old, span).label, changes)
