"""Edit scripts said anew: a hunk that was a script stays one, with what is now changed where it made its changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rebasekit.edit import script
from rebasekit.edit.scopes import find
from rebasekit.edit.script import Change
from rebasekit.edit.source import Source
from rebasekit.model.hunk import Form, Place


def rescripted(form: Form, source: Source, changes: Sequence[Change]) -> tuple[Form, list[Change]] | None:
    """The script with those of `changes` (of the whole file) that meet its own, and the others; None without any."""
    first, last = 1, len(source.lines)
    if form.place is Place.EDIT and form.scope:
        found = find(source, form.scope)
        if len(found) != 1:
            return None
        first, last = found[0].first, found[0].last
    own = [(c.at + first - 1, c.at + first - 1 + c.gone) for c in script.parse(form.lines)]
    inside = [c for c in changes if first <= c.at and c.at + max(c.gone - 1, 0) <= last]
    met = [c for c in inside if any(c.at <= end and start <= c.at + c.gone for start, end in own)]
    if not met:
        return None
    moved = [Change(c.at - first + 1, c.gone, c.lines) for c in met]
    ends = {line[len(line.rstrip("\r\n")) :] for c in moved for line in c.lines}
    keep = bool(ends - {source.newline, ""}) or (source.newline == "\r\n" and "" in ends)
    if form.place is Place.TEXT:
        keep = bool(ends & {"\r\n", "\r"})
    elif source.newline == "\r\n" and not keep:
        moved = [change.plain() for change in moved]
    return replace(form, lines=script.render(moved), keep_newlines=keep), [c for c in changes if c not in met]
