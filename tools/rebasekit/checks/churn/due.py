"""Whether a decision about a hunk carries to another tag, or a person has to look again."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from rebasekit.edit.layout import dedent
from rebasekit.edit.scopes import digest
from rebasekit.model.finding import Finding

_SHOWN = 3


def review_due(
    base: str,
    new: str,
    *,
    merged: bool,
    survived: bool,
    where: tuple[str, int],
    hunk: tuple[str, str],
    lost: Sequence[str] = (),
    next: str = "",
) -> Finding | None:
    """A `review-due` finding, or None when the decision carries.

    It carries when the scope's text is the same (`base` at the pin, `new` on the tag) or the three-way merge held
    (`merged`), and every API that the hunk uses `survived`; `lost` are those that did not. `where` is file and line on
    the tag, `hunk` patch and id. The message says how many lines of the scope moved; the change itself is
    `rebasekit show`'s.
    """
    same = digest(base) == digest(new)
    if survived and (same or merged):
        return None
    reasons = []
    if not same and not merged:
        added, removed = changed(base, new)
        reasons.append(f"the scope changed by +{added}/−{removed} lines, and its three-way merge does not hold")
    if not survived:
        reasons.append(_lost(lost))
    (file, line), (patch, name) = where, hunk
    return Finding(
        "review-due", file, line, " and ".join(reasons), next or f"rebasekit show {patch}/{name}", patch, name
    )


def _lost(names: Sequence[str]) -> str:
    shown = [f"`{name}`" for name in dict.fromkeys(names)]
    if not shown:
        return "an API that it uses did not survive"
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return f"what it uses did not survive as it was: {', '.join(shown[:_SHOWN])}{more}"


def changed(base: str, new: str) -> tuple[int, int]:
    """Lines added to and removed from a scope's text; its indentation as a whole does not count."""
    old, now = dedent(base).splitlines(), dedent(new).splitlines()
    added = removed = 0
    for kind, a, b, c, d in difflib.SequenceMatcher(None, old, now, autojunk=False).get_opcodes():
        if kind != "equal":
            added, removed = added + d - c, removed + b - a
    return added, removed
