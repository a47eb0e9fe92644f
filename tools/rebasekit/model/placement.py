"""What happened to a hunk on a tag."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from rebasekit.model.finding import Finding
from rebasekit.model.hunk import Form, Pin


class Outcome(enum.Enum):
    """The word for a placement, from nothing to do to a person's work."""

    CARRIED = "carried"
    SHIFTED = "shifted"
    RELOCATED = "relocated"
    UPSTREAMED = "upstreamed"
    NOT_MEANT = "not-meant"  # the hunk's range of tags leaves this tag out
    CONFLICT = "conflict"
    MISSING = "missing"
    AMBIGUOUS = "ambiguous"

    @property
    def applied(self) -> bool:
        return self in (Outcome.CARRIED, Outcome.SHIFTED, Outcome.RELOCATED)

    @property
    def open(self) -> bool:
        """Whether a person has to say where the hunk goes."""
        return self in (Outcome.CONFLICT, Outcome.MISSING, Outcome.AMBIGUOUS)


@dataclass(frozen=True)
class Spot:
    """A place in a tree: `line` is 1-based; `scope` is the qualified name, "" for the module."""

    file: str
    scope: str
    line: int


@dataclass(frozen=True)
class Conflict:
    """Both sides of a hunk that could not be placed, as text.

    `base` is the scope at the pin, `ours` the same with the hunk, `theirs` the scope on the tag (None when it is
    gone), `upstream_diff` upstream's own change to the scope, `merged` the text with conflict markers when there
    was something to merge. `alone` is the scope on the tag with the hunk where its anchor puts it, when it fits there
    and only the second opinion is missing. `key` names the conflict for remembered resolutions.
    """

    key: str
    reason: str
    base: str
    ours: str
    theirs: str | None
    upstream_diff: str = ""
    merged: str = ""
    alone: str = ""


@dataclass(frozen=True)
class Placement:
    """A hunk on a tag. `spot` is where its first line stands in the patched tree; None when not applied.

    `lines` are the 1-based line numbers of the patched file that are the hunk's. `candidates` are the nearest
    spots for missing and ambiguous hunks. `remembered` names the resolution that placed it. `pin` is what a pin
    at this tag would say, and `script` an edit's lines there, when they are not the form's: an edit counts lines.
    """

    patch: str
    hunk: str
    outcome: Outcome
    form: Form | None
    file: str
    scope: str
    reason: str = ""
    spot: Spot | None = None
    lines: tuple[int, ...] = ()
    depth: int | None = None
    candidates: tuple[Spot, ...] = ()
    conflict: Conflict | None = None
    remembered: str = ""
    pin: Pin | None = None
    script: str = ""
    method: str = ""  # which two methods agreed
    decision: str = ""  # "carried", "due" or "" when the hunk has none
    findings: tuple[Finding, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.patch}/{self.hunk}"
