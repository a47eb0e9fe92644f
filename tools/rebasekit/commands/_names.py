"""Hunks and patches by the names that people type."""

from __future__ import annotations

from difflib import get_close_matches

from rebasekit.errors import UsageError
from rebasekit.model.hunk import Hunk, Patch, Series


def find(series: Series, name: str) -> Hunk | Patch:
    """A hunk by `patch/id`, a patch, or a hunk by an id that only one patch has.

    Raises UsageError with the possible names when there are several, and with the closest ones when there is none.
    """
    hunks = {hunk.name: hunk for hunk in series.hunks()}
    if name in hunks:
        return hunks[name]
    patches = {patch.name: patch for patch in series.patches}
    if name in patches:
        return patches[name]
    same_id = [hunk for hunk in series.hunks() if hunk.id == name]
    if len(same_id) == 1:
        return same_id[0]
    if same_id:
        several = ", ".join(hunk.name for hunk in same_id)
        raise UsageError(f"`{name}` is the id of several hunks: {several}", hint=f"use `{same_id[0].name}`")
    known = [*hunks, *patches, *(hunk.id for hunk in series.hunks())]
    close = get_close_matches(name, dict.fromkeys(known), n=3, cutoff=0.5)
    if close:
        raise UsageError(
            f"there is no hunk or patch `{name}`, the closest are {', '.join(close)}", hint=f"use `{close[0]}`"
        )
    raise UsageError(f"there is no hunk or patch `{name}`", hint="rebasekit list")


def find_hunk(series: Series, name: str) -> Hunk:
    """The same for commands that take a hunk only."""
    found = find(series, name)
    if isinstance(found, Patch):
        ids = ", ".join(hunk.name for hunk in found.hunks)
        raise UsageError(f"`{name}` is a patch, not a hunk; its hunks are {ids or 'none'}", hint="rebasekit list")
    return found


def find_patch(series: Series, name: str) -> Patch:
    """The same for commands that take a patch only."""
    found = find(series, name)
    if isinstance(found, Hunk):
        raise UsageError(f"`{name}` is a hunk, not a patch", hint=f"use `{found.patch}`")
    return found
