"""A patch's hunks on one file, after somebody changed the file by hand.

A hunk whose lines were touched takes over what stands there now; what is left becomes hunks of its own; a hunk that
has to be said anew keeps its id, why and decision. Several ways are tried, the gentlest first, and only one that
gives the file's bytes exactly counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rebasekit.edit.layout import to_column_0
from rebasekit.edit.source import Unreadable
from rebasekit.errors import StateError
from rebasekit.model.hunk import Hunk, Place
from rebasekit.model.placement import Placement
from rebasekit.steps.bench import Bench, Trial
from rebasekit.steps.fileforms import attempts, line_changes, name_of, text_of, with_body
from rebasekit.steps.linemap import LineMap
from rebasekit.steps.ranges import without
from rebasekit.steps.retelling import Retelling, told_of
from rebasekit.steps.worktree import Found

_SAID_ANEW = (Place.EDIT, Place.TEXT, Place.DELETE, Place.ELEMENT, Place.ARGUMENT, Place.PARAMETER, Place.BASE)


@dataclass
class Rework:
    """One file: `mine` are the patch's hunks on it, `was` its bytes below the patch, `now` with the patch."""

    bench: Bench
    found: Found
    mine: list[Hunk]
    placements: dict[str, Placement]
    was: bytes | None
    now: bytes | None
    used: set[str]
    on_file: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self.told = Retelling(self.bench, self.found.path, self.used)

    def hunks(self) -> list[Hunk]:
        """The hunks that give the file as it is found; raise StateError when none do."""
        path, data = self.found.path, self.found.data
        if data == self.was:
            return []
        if data is None or self.was is None:
            return self._pinned(self._whole(), None)
        self._check_python()
        for kept in self._keepable():
            for hunks in self._completed(kept):
                trial = self._try(hunks)
                if trial is not None and trial.data == data:
                    return self._pinned(self._needed(hunks), trial)
        raise StateError(
            f"the change of `{path}` cannot be said as hunks of `{self.bench.patch}`",
            hint=f"rebasekit edit {self._owner_below() or self.bench.patch}",
        )

    def _owner_below(self) -> str:
        named = (p.name for p in self.bench.below for h in p.hunks if h.name in self.on_file)
        return next(named, "")

    def _check_python(self) -> None:
        """A slip of the editor is told now, not when the patched tree is checked."""
        path, data = self.found.path, self.found.data
        if not path.endswith(".py") or data is None:
            return
        try:
            _ = text_of(path, self.was or b"").tree
        except Unreadable:
            return
        try:
            _ = text_of(path, data).tree
        except Unreadable as error:
            raise StateError(f"`{path}` cannot be read as Python any more: {error}") from None

    def _try(self, hunks: Sequence[Hunk]) -> Trial | None:
        try:
            return self.bench.try_file(self.found.path, hunks, self.on_file)
        except Unreadable:
            return None

    def _whole(self) -> list[Hunk]:
        """New files, and files that the patch deletes."""
        form = next(iter(attempts(self.found.path, self.was, self.found.data, executable=self.found.executable)))[0]
        same = next(
            (h for h in self.mine if self.told.form_of(h).place is form.place and not self.told.form_of(h).at), None
        )
        if same is not None:
            old = self.told.form_of(same)
            return [self.told.with_form(same, replace(form, **told_of(old), pin=old.pin))]  # type: ignore[arg-type]
        if form.place is Place.DELETE and self.was != self.bench.pristine(self.found.path):
            raise StateError(
                f"`{self.found.path}` cannot be deleted: a patch below changes it",
                hint=f"rebasekit edit {self._owner_below() or self.bench.below[-1].name}",
            )
        return [with_body(Hunk(self.bench.patch, name_of(form, self.used), (self.bench.fresh(form),)))]

    def _keepable(self) -> Iterator[list[Hunk]]:
        """Hunks that can stay, most of them first."""
        stay = [h for h in self.mine if not self._undone(h)]
        for extend in (True, False):
            yield self._updated(stay, extend=extend)
        if self.now is not None and self.found.data is not None:
            lines = self._line_map()
            yield [h for h in stay if not self._touched(h, lines)]
        yield []

    def _line_map(self) -> LineMap:
        path = self.found.path
        return LineMap(text_of(path, self.now or b"").text, text_of(path, self.found.data or b"").text)

    def _undone(self, hunk: Hunk) -> bool:
        """Whether what a hunk took out is back: without the hunk there is less left to say."""
        if self.told.form_of(hunk).place not in (Place.DELETE, Place.EDIT, Place.TEXT):
            return False
        trial = self._try([h for h in self.mine if h is not hunk])
        if trial is None or trial.data is None:
            return False
        return self._distance(trial.data) < self._distance(self.now or b"")

    def _distance(self, data: bytes) -> int:
        path = self.found.path
        changes = line_changes(text_of(path, data).text, text_of(path, self.found.data or b"").text)
        return sum(change.gone + len(change.lines) for change in changes)

    def _runs(self, hunk: Hunk) -> list[tuple[int, int]]:
        """The hunk's lines in the file as half-open 0-based blocks: one per match of its anchor."""
        runs: list[list[int]] = []
        for line in self.placements[hunk.id].lines:
            if runs and runs[-1][1] == line - 1:
                runs[-1][1] = line
            else:
                runs.append([line - 1, line])
        return [(first, last) for first, last in runs]

    def _touched(self, hunk: Hunk, lines: LineMap) -> bool:
        return any(lines.block(*run, extend=False)[0] for run in self._runs(hunk))

    def _updated(self, hunks: list[Hunk], *, extend: bool) -> list[Hunk]:
        lines, result = self._line_map(), []
        for hunk in hunks:
            blocks = [lines.block(*run, extend=extend) for run in self._runs(hunk)]
            if not any(touched for touched, _ in blocks):
                result.append(hunk)
                continue
            form, texts = self.told.form_of(hunk), {text for _, text in blocks}
            if not form.keep_newlines:
                texts = {to_column_0(text) for text in texts}
            text = texts.pop()
            if form.place not in _SAID_ANEW and not texts and text.strip():
                result.append(self.told.with_form(hunk, replace(form, lines=text)))
        return result

    def _completed(self, kept: list[Hunk]) -> Iterator[list[Hunk]]:
        """The kept hunks with what is still missing."""
        trial = self._try(kept)
        if trial is None or trial.data is None or self.found.data is None:
            return
        if trial.data == self.found.data:
            yield kept
            return
        gone = [h for h in self.mine if h.id not in {k.id for k in kept}]
        for plain, said in self.told.missing(trial.data, self.found.data, gone):
            forms = [self.bench.fresh(form) for form in plain]
            added = [*said, *self.told.named(forms, [h for h in gone if h.id not in {s.id for s in said}])]
            yield [*kept, *added]
            if kept:
                yield [*added, *kept]

    def _needed(self, hunks: list[Hunk]) -> list[Hunk]:
        """Without changed hunks that now say what upstream says."""
        for hunk in [h for h in hunks if h not in self.mine and h.id in {m.id for m in self.mine}]:
            rest = [h for h in hunks if h is not hunk]
            trial = self._try(rest)
            if trial is not None and trial.data == self.found.data:
                hunks = rest
        return hunks

    def _pinned(self, hunks: list[Hunk], trial: Trial | None) -> list[Hunk]:
        """The hunks with the pins that their place gives instead of those of `fresh`."""
        trial = trial or self._try(hunks)
        if trial is None or trial.data != self.found.data:
            raise StateError(f"the change of `{self.found.path}` cannot be said as hunks of `{self.bench.patch}`")
        pins = {placement.hunk: placement.pin for placement in trial.placements}
        result = []
        for hunk in hunks:
            form, before = self.told.form_of(hunk), next((h for h in self.mine if h.id == hunk.id), None)
            if form.pin is not None and not form.pin.scope and before != hunk:
                hunk = hunk.with_form(hunk.form_for(self.bench.tag)[0], replace(form, pin=pins.get(hunk.id)))  # type: ignore[index]
            result.append(hunk)
        self.used.update(h.id for h in result)
        return result


def retired(hunk: Hunk, bench: Bench) -> Hunk | None:
    """What stays of a hunk whose lines were deleted: nothing, or its forms for other releases."""
    return without(hunk, bench.tag) if len(hunk.forms) > 1 else None
