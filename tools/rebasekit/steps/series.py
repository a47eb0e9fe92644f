"""Place a whole series: every hunk on pristine text, then together, patch by patch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from rebasekit.edit import scopes
from rebasekit.edit.match import matches
from rebasekit.edit.owned import Overlap, Owned, Piece, Splice
from rebasekit.edit.patterns import parse_pattern
from rebasekit.edit.source import Source, Unreadable
from rebasekit.model.finding import Finding
from rebasekit.model.hunk import Form, Hunk, Patch, Place, Series
from rebasekit.model.placement import Outcome, Placement, Spot
from rebasekit.model.progress import SILENT, Progress
from rebasekit.model.tag import Tag, in_range
from rebasekit.steps import dependent
from rebasekit.steps.moves import Moves
from rebasekit.steps.placing.farther import farther
from rebasekit.steps.placing.place import place
from rebasekit.steps.placing.question import Farther, Placed, Question, Succession
from rebasekit.steps.trees import Trees

_Bytes = bytes  # a method of `Tree` has that name
_Encoded = tuple[list[Piece], bytes]
Remembered = Callable[[str], Form | None]


@dataclass
class Tree:
    """The patched files of one tag while hunks are added: text with owners, and files of ours."""

    trees: Trees
    tag: Tag
    files: dict[str, Owned] = field(default_factory=dict)
    sources: dict[str, Source] = field(default_factory=dict)
    created: dict[str, str] = field(default_factory=dict)  # path → hunk
    deleted: dict[str, str] = field(default_factory=dict)  # path → hunk
    _bytes: dict[str, _Encoded] = field(default_factory=dict)

    def owned(self, path: str, *, text: bool = False) -> Owned:
        if path in self.deleted:
            raise Overlap(self.deleted[path])
        if path not in self.files:
            source = self.trees.text(self.tag, path) if text else self.trees.source(self.tag, path)
            assert source is not None
            self.sources[path] = source.with_text(source.text)  # without the tree, which is large
            self.files[path] = Owned(source.text)
        return self.files[path]

    def create(self, path: str, text: str, owner: str) -> None:
        self.sources[path] = Source(text)
        self.files[path] = Owned("")
        self.files[path].splice_pristine(owner, [Splice(0, 0, text)])
        self.created[path] = owner

    def delete(self, path: str, owner: str) -> None:
        if path in self.files:
            raise Overlap(next((p.owner or p.gone or "" for p in self.files[path].pieces if p.owner or p.gone), ""))
        self.deleted[path] = owner

    def bytes(self) -> dict[str, bytes | None]:
        """Every changed file as it now is; None for one that is deleted."""
        changed = {path: self._encoded(path, owned) for path, owned in self.files.items()}
        return {**changed, **dict.fromkeys(self.deleted)}

    def _encoded(self, path: str, owned: Owned) -> _Bytes:
        """The file's bytes, made anew only after a splice: it is asked for after every patch."""
        known = self._bytes.get(path)
        if known is None or known[0] is not owned.pieces:
            self._bytes[path] = known = (owned.pieces, self.sources[path].with_text(owned.text).encode())
        return known[1]


@dataclass(frozen=True)
class Stage:
    """The tree after one patch: changed files, None for none."""

    patch: Patch
    changes: Mapping[str, bytes | None]


@dataclass(frozen=True)
class Outcomes:
    """A placed series. `stages` are the patches' trees in order; `tree` the last one."""

    placements: tuple[Placement, ...]
    stages: tuple[Stage, ...]
    tree: Tree


def place_series(
    series: Series,
    tag: Tag,
    trees: Trees,
    *,
    pin_of: Callable[[Form], Tag],
    moves: Moves | None = None,
    remembered: Remembered = lambda key: None,
    progress: Progress = SILENT,
) -> Outcomes:
    """Place every hunk of the series on a tag. Never raises for a hunk: what went wrong is its placement."""
    placer = _Placer(series, tag, trees, pin_of, moves or Moves(), remembered)
    outcomes = placer.placed(progress)
    beyond = farther(trees, placer.successions, progress)
    if not placer.doubts(beyond):
        return outcomes
    return replace(placer, farther=beyond).placed(progress)


@dataclass
class _Placer:
    """One pass over a series. `farther` are the files beyond a hunk's own in which its scope may have a rival."""

    series: Series
    tag: Tag
    trees: Trees
    pin_of: Callable[[Form], Tag]
    moves: Moves
    remembered: Remembered
    farther: Mapping[str, Farther] = field(default_factory=dict)
    tree: Tree = field(init=False)
    placements: list[Placement] = field(init=False, default_factory=list)
    successions: dict[str, Succession] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.tree = Tree(self.trees, self.tag)

    def placed(self, progress: Progress) -> Outcomes:
        stages = []
        with progress.task(f"placing on {self.tag}", len(self.series.hunks()), "hunks") as task:
            for patch in self.series.patches:
                for hunk in patch.hunks:
                    self.add(hunk)
                    task.advance()
                stages.append(Stage(patch, self.tree.bytes()))
        return Outcomes(self.finished(), tuple(stages), self.tree)

    def doubts(self, beyond: Mapping[str, Farther]) -> bool:
        """Whether a hunk that has its place loses it with a look at the files beyond."""
        hunks = [hunk for hunk in self.series.hunks() if hunk.name in beyond]
        asked = (replace(self._question(hunk, hunk.form_for(self.tag)[1]), farther=beyond[hunk.name]) for hunk in hunks)  # type: ignore[index]
        return any(place(question, self.moves).placement.outcome.open for question in asked)

    def _question(self, hunk: Hunk, form: Form) -> Question:
        beyond = self.farther.get(hunk.name, Farther())
        return Question(hunk, form, self.pin_of(form), self.tag, self.trees, beyond)

    def add(self, hunk: Hunk) -> None:
        selected = hunk.form_for(self.tag)
        if selected is None or not _meant(hunk, self.tag):
            form = hunk.forms[0]
            reason = f"the hunk is not meant for {self.tag}"
            self.placements.append(
                Placement(hunk.patch, hunk.id, Outcome.NOT_MEANT, form, form.file, form.scope, reason)
            )
            return
        form = selected[1]
        try:
            self.placements.append(self._add(hunk, form))
        except Unreadable as error:
            self.placements.append(self._unread(hunk, form, str(error)))

    def _add(self, hunk: Hunk, form: Form) -> Placement:
        question = self._question(hunk, form)
        placed = place(question, self.moves)
        if placed.succession is not None:
            self.successions[hunk.name] = placed.succession
        if placed.placement.outcome.open:
            known = self.remembered(placed.placement.conflict.key) if placed.placement.conflict else None
            if known is not None:
                again = place(replace(question, form=replace(known, pin=None), pin=self.tag), Moves())
                if again.placement.outcome.applied:
                    key = placed.placement.conflict.key  # type: ignore[union-attr]
                    placed = replace(again, placement=replace(again.placement, remembered=key, outcome=Outcome.SHIFTED))
        if placed.placement.outcome.open and not self._upstreams(form):
            ours = dependent.place_on_ours(hunk, form, self.tree.files, self.tag)
            ours = ours or dependent.retired(hunk, form, self.placements)
            if ours is not None:
                return ours
        if not placed.placement.outcome.applied:
            return placed.placement
        return self._apply(hunk, form, placed)

    def _apply(self, hunk: Hunk, form: Form, placed: Placed) -> Placement:
        placement = placed.placement
        try:
            if placed.new_file is not None:
                if placement.file in self.tree.created:
                    raise Overlap(self.tree.created[placement.file])
                self.tree.create(placement.file, placed.new_file.decode(), hunk.name)
            elif placed.deletes:
                self.tree.delete(placement.file, hunk.name)
            else:
                self.tree.owned(placement.file, text=form.place is Place.TEXT).splice_pristine(
                    hunk.name, placed.splices
                )
        except Overlap as overlap:
            reason = f"it changes the same text as `{overlap.owner}`"
            return replace(placement, outcome=Outcome.CONFLICT, reason=reason, lines=(), decision="due")
        return placement

    def _upstreams(self, form: Form) -> bool:
        """Whether the anchor was upstream's at the pin: then lines of ours that look like it do not count."""
        pin = self.pin_of(form)
        try:
            source = self.trees.source(pin, form.file)
        except Unreadable:
            return True
        if source is None:
            return False
        found = scopes.find(source, form.scope) if form.place is not Place.TEXT else []
        if not found:
            return False
        return not form.at or any(matches(parse_pattern(form.at), scope) for scope in found)

    def _unread(self, hunk: Hunk, form: Form, reason: str) -> Placement:
        finding = Finding(
            "unread",
            form.file,
            0,
            f"cannot be read as Python, so nothing can be said about it: {reason}",
            f"rebasekit show {hunk.name}",
            hunk.patch,
            hunk.id,
        )
        return Placement(
            hunk.patch,
            hunk.id,
            Outcome.CONFLICT,
            form,
            form.file,
            form.scope,
            reason,
            findings=(finding,),
            decision="due",
        )

    def finished(self) -> tuple[Placement, ...]:
        """Placements with the line numbers of the finished tree."""
        result = []
        for placement in self.placements:
            if placement.outcome.applied and placement.file in self.tree.files:
                lines = self.tree.files[placement.file].lines_of(placement.name)
                spot = placement.spot
                if lines and spot:
                    spot = Spot(spot.file, spot.scope, lines[0])
                placement = replace(placement, lines=lines, spot=spot)
            result.append(placement)
        return tuple(result)


def _meant(hunk: Hunk, tag: Tag) -> bool:
    return any(in_range(tag, form.tags) for form in hunk.forms)
