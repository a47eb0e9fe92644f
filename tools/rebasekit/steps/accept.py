"""A person has looked: pins move, and the reason is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from rebasekit.edit.owned import spliced
from rebasekit.edit.source import Unreadable
from rebasekit.errors import StateError, UsageError
from rebasekit.model.hunk import Form, Hunk, Place
from rebasekit.model.placement import Outcome, Placement
from rebasekit.model.progress import SILENT, Progress
from rebasekit.model.tag import Tag
from rebasekit.patches.editor import Editor
from rebasekit.patches.mapped import mapped_tags
from rebasekit.patches.moves import load_moves
from rebasekit.steps.fileforms import own_body
from rebasekit.steps.moves import Moves
from rebasekit.steps.placing.place import place
from rebasekit.steps.placing.question import Question
from rebasekit.steps.ranges import with_variant, write_hunk
from rebasekit.steps.rebase import carry
from rebasekit.steps.trees import Trees
from rebasekit.steps.workspace import Workspace, check_pattern, pin_tag


@dataclass(frozen=True)
class Pinned:
    """A hunk whose pin now says `tag`; `how` is the form that holds it."""

    hunk: str
    tag: Tag
    how: str

    def __str__(self) -> str:
        return f"{self.hunk} pinned to {self.tag} ({self.how})"


def newest(space: Workspace) -> Tag:
    """The release that a person most likely looked at: the newest one with a map."""
    return max(mapped_tags(space.root), default=space.series.base)


def accept(
    space: Workspace, names: list[str], *, why: str, tag: Tag | None = None, progress: Progress = SILENT
) -> list[Pinned]:
    """Pin hunks (or all hunks of a patch) to a release on which they have a place; all or nothing.

    The form's own pin moves when every mapped release still agrees with it, otherwise the hunk gets a variant from
    `tag` on, so that older releases keep the pin they were reviewed with. Raises StateError for a hunk without a place.
    """
    if not why.strip():
        raise UsageError("`--why` is empty: say what you looked at", hint="rebasekit accept --help")
    tag = tag or newest(space)
    hunks = {hunk.name: hunk for name in names for hunk in _hunks(space, name, tag)}
    tags = {t for t in mapped_tags(space.root) if t >= space.series.base} | {tag, space.series.base}
    placements = {p.name: p for p in carry(space, tag, progress=progress).verdict.placements}
    return pin_hunks(space, list(hunks.values()), tag, placements, tags, why=why)


def pin_hunks(
    space: Workspace,
    hunks: list[Hunk],
    tag: Tag,
    placements: Mapping[str, Placement],
    tags: set[Tag],
    *,
    why: str | None = None,
) -> list[Pinned]:
    """Pin hunks to where they were placed on the tag, so that nothing changes on `tags`; all or nothing.

    `why` becomes their decision; without it each keeps its own. Raises StateError for a hunk without a place.
    """
    checks = _Checks(space, tags, Trees(space.store), Moves(load_moves(space.root)))
    done = []
    with Editor(space.root, check=check_pattern) as editor:
        for hunk in hunks:
            selected = hunk.form_for(tag)
            if selected is None:
                raise StateError(f"`{hunk.name}` is not meant for {tag}", hint=f"rebasekit show {hunk.name}")
            index, old = selected
            form = checks.looked(hunk, old, tag, placements[hunk.name])
            # where a scope may be another now, older releases have the other one
            doubted = placements[hunk.name].outcome is Outcome.AMBIGUOUS
            if not doubted and checks.holds_everywhere(hunk, index, form):
                new, how = hunk.with_form(index, form), "its form"
            else:
                new, how = with_variant(hunk, form, tag), "a form"
            held = new.form_for(tag)[1].tags  # type: ignore[index]
            write_hunk(editor, new if why is None else replace(new, decision=why))
            done.append(Pinned(hunk.name, tag, f"{how} for {held}" if held else how))
        editor.commit()
    return done


def _hunks(space: Workspace, name: str, tag: Tag) -> tuple[Hunk, ...]:
    """A hunk, or those of a patch that are meant for the release."""
    for patch in space.series.patches:
        if patch.name == name:
            return tuple(hunk for hunk in patch.hunks if hunk.form_for(tag))
    return (space.hunk(name),)


@dataclass(frozen=True)
class _Checks:
    """What has to hold before a pin moves."""

    space: Workspace
    tags: set[Tag]
    trees: Trees
    moves: Moves

    def looked(self, hunk: Hunk, form: Form, tag: Tag, placement: Placement) -> Form:
        """The form with where the hunk stands on the tag and the pin that says so; raise StateError without a place.

        A hunk that two methods do not agree on stands where its anchor fits: the person is the second method.
        """
        if not placement.outcome.applied and form.place in (Place.EDIT, Place.TEXT):  # no anchor says where
            raise _homeless(hunk, tag, placement)
        if not placement.outcome.applied or placement.pin is None:
            there = replace(form, file=placement.file, scope=placement.scope)
            placement = replace(self.anchored(hunk, there, tag, placement), form=form)
        assert placement.pin is not None
        if placement.remembered and placement.form is not None:  # that form stands there, not the hunk's own
            facts = {key: getattr(form, key) for key in ("uses", "needs", "relies")}
            form = own_body(hunk, replace(placement.form, **facts), tag)
        elif placement.script:
            form = own_body(hunk, replace(form, lines=placement.script), tag)
        pin = replace(placement.pin, file=None, scope_name=None)
        return replace(form, file=placement.file, scope=placement.scope, pin=pin)

    def anchored(self, hunk: Hunk, form: Form, tag: Tag, known: Placement | None = None) -> Placement:
        """Where the anchor alone puts the form on the tag; raise StateError when it does not fit."""
        try:
            found = place(Question(hunk, replace(form, pin=None), tag, tag, self.trees), self.moves).placement
        except Unreadable as error:
            raise StateError(f"`{form.file}` on {tag} cannot be read: {error}") from None
        if known is not None and known.outcome.open and known.conflict is None:
            found = known  # it is in another hunk's way, or cannot be read
        if not found.outcome.applied or found.pin is None:
            raise _homeless(hunk, tag, known if known is not None and known.reason else found)
        return found

    def holds_everywhere(self, hunk: Hunk, index: int, form: Form) -> bool:
        """Whether the new pin changes nothing for the worse on any stored release that this form is for."""
        moved = hunk.with_form(index, form)
        for tag in sorted(self.tags):
            selected = moved.form_for(tag)
            if selected is None or selected[0] != index or not self.space.store.has(tag):
                continue
            if form.place in (Place.EDIT, Place.TEXT) and not self._same(moved, hunk, index, tag):
                return False
            after = self._placed(moved, form, tag)
            good = after.outcome in (Outcome.CARRIED, Outcome.SHIFTED) and not after.findings
            if not good and _told(after) != _told(self._placed(hunk, hunk.forms[index], tag)):
                return False
        return True

    def _same(self, moved: Hunk, hunk: Hunk, index: int, tag: Tag) -> bool:
        """Whether an edit gives the same file with both pins; a merge from another release need not."""
        texts = []
        for each in (moved, hunk):
            form = each.forms[index]
            try:
                placed = place(self._question(each, form, tag), self.moves)
                read = self.trees.text if form.place is Place.TEXT else self.trees.source
                source = read(tag, placed.placement.file)
            except Unreadable:
                return False
            texts.append(spliced(source.text, placed.splices) if source and placed.placement.outcome.applied else None)
        return texts[0] == texts[1] or texts[1] is None

    def _question(self, hunk: Hunk, form: Form, tag: Tag) -> Question:
        return Question(hunk, form, pin_tag(form, self.space.series.base), tag, self.trees)

    def _placed(self, hunk: Hunk, form: Form, tag: Tag) -> Placement:
        question = self._question(hunk, form, tag)
        try:
            placement = place(question, self.moves).placement
        except Unreadable as error:
            return question.answer(Outcome.CONFLICT, str(error))
        if not placement.outcome.open:
            return placement
        series = self.space.series  # it may stand on another hunk's lines, which only the series shows
        patches = (replace(p, hunks=tuple(hunk if h.name == hunk.name else h for h in p.hunks)) for p in series.patches)
        placements = carry(self.space, tag, series=replace(series, patches=tuple(patches))).verdict.placements
        return next(p for p in placements if p.name == hunk.name)


def _homeless(hunk: Hunk, tag: Tag, placement: Placement) -> StateError:
    reason = placement.reason or placement.outcome.value
    return StateError(
        f"`{hunk.name}` has no place on {tag}: {reason}", hint=f"rebasekit resolve {hunk.name} --tag {tag}"
    )


def _told(placement: Placement) -> tuple[object, ...]:
    return placement.outcome, *(finding.kind for finding in placement.findings)


def pinned(space: Workspace, hunk: Hunk, form: Form, tag: Tag) -> Form:
    """A form with the pin that its anchor gives on the tag; raise StateError when it does not fit."""
    checks = _Checks(space, set(), Trees(space.store), Moves(load_moves(space.root)))
    return replace(form, pin=checks.anchored(hunk, form, tag).pin)
