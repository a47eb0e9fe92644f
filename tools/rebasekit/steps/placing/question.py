"""The question that placing answers: this hunk, in this form, pinned there, on that tag."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from rebasekit.edit.owned import Splice
from rebasekit.model.hunk import Form, Hunk
from rebasekit.model.placement import Outcome, Placement
from rebasekit.model.tag import Tag
from rebasekit.steps.trees import Trees


@dataclass(frozen=True)
class Succession:
    """The lines of a scope at the pin, and of the scope that is taken for it on the tag; `files` are those of both."""

    pin: Tag
    tag: Tag
    files: tuple[str, str]
    was: Counter[str]
    now: Counter[str]


@dataclass(frozen=True)
class Farther:
    """Files beyond a scope's own to look at for another that has a better claim: on the tag, and at the pin."""

    heirs: tuple[str, ...] = ()
    forebears: tuple[str, ...] = ()


@dataclass(frozen=True)
class Placed:
    """A placement and the splices (offsets in the pristine file) that make it so; none when it does not apply.

    `succession` is there when the hunk went to a scope that changed, and nothing near it speaks against that.
    """

    placement: Placement
    splices: tuple[Splice, ...] = ()
    new_file: bytes | None = None
    deletes: bool = False
    succession: Succession | None = None


@dataclass(frozen=True)
class Question:
    """What is asked: this hunk, in this form, pinned there, on that tag."""

    hunk: Hunk
    form: Form
    pin: Tag
    tag: Tag
    trees: Trees
    farther: Farther = Farther()

    def answer(self, outcome: Outcome, reason: str = "", **more: object) -> Placement:
        values: dict[str, object] = {"file": self.form.file, "scope": self.form.scope, **more}
        return Placement(self.hunk.patch, self.hunk.id, outcome, self.form, reason=reason, **values)  # type: ignore[arg-type]

    def pinned(self) -> tuple[str, str]:
        """File and scope at the pin."""
        pin = self.form.pin
        name = pin.scope_name if pin and pin.scope_name is not None else self.form.scope
        return (pin.file if pin and pin.file else self.form.file), name
