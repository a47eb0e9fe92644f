"""Hunks and patches by the names that people type."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from rebasekit.errors import UsageError
from rebasekit.model.hunk import Hunk, Patch, Series


def find(series: Series, name: str) -> Hunk | Patch:
    """A hunk by `patch/id`, a patch, or a hunk by an id that only one patch has.

    Raises UsageError with the possible names when there are several, and with the closest ones when there is none.
    """
    for found in (_whole(series, name), _patch(series, name), _by_id(series, name)):
        if found is not None:
            return found
    raise _unknown("hunk or patch", name, [*_hunk_names(series), *(patch.name for patch in series.patches)])


def find_hunk(series: Series, name: str) -> Hunk:
    """The same where only a hunk will do."""
    found = _whole(series, name) or _by_id(series, name)
    if found is not None:
        return found
    if (patch := _patch(series, name)) is not None:
        ids = ", ".join(f"`{hunk.id}`" for hunk in patch.hunks)
        told = f"`{name}` is a patch, not a hunk; its hunks are {ids or 'none'}"
        raise UsageError(told, hint=f"rebasekit list {name}")
    raise _unknown("hunk", name, _hunk_names(series))


def find_patch(series: Series, name: str) -> Patch:
    """The same where only a patch will do."""
    found = _patch(series, name)
    if found is not None:
        return found
    owner = next((hunk.patch for hunk in series.hunks() if name in (hunk.name, hunk.id)), "")
    if owner:
        raise UsageError(f"`{name}` is a hunk, not a patch", hint=f"use `{owner}`")
    raise _unknown("patch", name, [patch.name for patch in series.patches])


def _whole(series: Series, name: str) -> Hunk | None:
    return next((hunk for hunk in series.hunks() if hunk.name == name), None)


def _patch(series: Series, name: str) -> Patch | None:
    return next((patch for patch in series.patches if patch.name == name), None)


def _by_id(series: Series, name: str) -> Hunk | None:
    found = [hunk for hunk in series.hunks() if hunk.id == name]
    if len(found) > 1:
        several = ", ".join(f"`{hunk.name}`" for hunk in found)
        raise UsageError(f"`{name}` is the id of several hunks: {several}", hint=f"use `{found[0].name}`")
    return found[0] if found else None


def _hunk_names(series: Series) -> list[str]:
    return [hunk.name for hunk in series.hunks()] + [hunk.id for hunk in series.hunks()]


def _unknown(kind: str, name: str, known: Iterable[str]) -> UsageError:
    close = get_close_matches(name, dict.fromkeys(known), n=3, cutoff=0.5)
    near = f", the closest are {', '.join(f'`{other}`' for other in close)}" if close else ""
    return UsageError(f"there is no {kind} `{name}`{near}", hint=f"use `{close[0]}`" if close else "rebasekit list")
