"""A bench to try hunks on: one file of one release, with the patches below in place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from rebasekit.model.hunk import Form, Hunk, Patch, Pin, Series
from rebasekit.model.placement import Placement
from rebasekit.model.tag import Tag
from rebasekit.patches.moves import load_moves
from rebasekit.patches.resolutions import load_resolutions
from rebasekit.steps.moves import Moves
from rebasekit.steps.series import place_series
from rebasekit.steps.trees import Trees
from rebasekit.steps.workspace import Workspace, check_pattern, pin_tag


@dataclass(frozen=True)
class Trial:
    """What a file becomes: its bytes (None for a deleted file) and where the hunks stand."""

    data: bytes | None
    placements: tuple[Placement, ...]


@dataclass
class Bench:
    """`below` are the patches that come first; `patch` is the name of the one that is tried."""

    space: Workspace
    tag: Tag
    patch: str
    below: tuple[Patch, ...] = ()
    trees: Trees = field(init=False)

    def __post_init__(self) -> None:
        self.trees = Trees.of(self.space.store, self.space.cache)
        self._moves = Moves(load_moves(self.space.root))
        self._known = {k: r.form for k, r in load_resolutions(self.space.root, check=check_pattern).items()}

    def fresh(self, form: Form) -> Form:
        """A form that was made just now, on this release; its digests come when its place is known."""
        return replace(form, pin=Pin(self.tag.name, ""))

    def pristine(self, path: str) -> bytes | None:
        return self.trees.data(self.tag, path)

    def try_file(self, path: str, hunks: Sequence[Hunk], on_file: frozenset[str] = frozenset()) -> Trial | None:
        """The file with the hunks of the patches below that touch it, and these; None when one has no place.

        `on_file` names hunks below whose own form says another file (they followed a move).
        """
        below = [
            replace(patch, hunks=tuple(h for h in patch.hunks if h.name in on_file or self._says(h, path)))
            for patch in self.below
        ]
        mine = Patch(self.patch, self.patch, "", "", hunks=tuple(hunks))
        base = self.space.series.base
        outcomes = place_series(
            Series(base, self.space.series.source, (*below, mine)),
            self.tag,
            self.trees,
            pin_of=lambda form: pin_tag(form, base),
            moves=self._moves,
            remembered=self._remembered,
        )
        placements = tuple(p for p in outcomes.placements if p.patch == self.patch)
        if any(p.outcome.open for p in placements):
            return None
        return Trial(outcomes.tree.bytes().get(path, self.pristine(path)), placements)

    def _says(self, hunk: Hunk, path: str) -> bool:
        selected = hunk.form_for(self.tag)
        return selected is not None and selected[1].file == path

    def _remembered(self, key: str) -> Form | None:
        return self._known.get(key)
