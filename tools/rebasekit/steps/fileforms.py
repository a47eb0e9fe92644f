"""What was done to one file, as forms of hunks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rebasekit.edit import derive, script
from rebasekit.edit.script import Change
from rebasekit.edit.source import Source, Unreadable, split_lines
from rebasekit.errors import UsageError
from rebasekit.model.hunk import Form, Hunk, Place
from rebasekit.model.tag import Tag
from rebasekit.upstream.textdiff import diff_unified


def text_of(path: str, data: bytes) -> Source:
    """A file as text: Python in its own encoding, everything else in UTF-8; raise UsageError for what is no text."""
    if path.endswith(".py"):
        try:
            return Source.of(data)
        except Unreadable:
            pass
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise UsageError(f"`{path}` is not UTF-8 text, which cannot be carried") from None
    if "\0" in text:
        raise UsageError(f"`{path}` is binary, which cannot be carried")
    return Source(text)


def attempts(path: str, old: bytes | None, new: bytes | None, *, executable: bool = False) -> Iterator[list[Form]]:
    """Ways to say one file's change, the best first: by structure, as edits of the file, as lines of text.

    Whoever asks has to try each: nothing here says that the forms give exactly `new`.
    """
    if new is None:
        yield [Form(path, "", Place.DELETE)]
        return
    after = text_of(path, new)
    if old is None:
        if not _is_utf8(new):
            raise UsageError(f"`{path}` is a new file that is not UTF-8 text, which cannot be carried")
        mode, text = "executable" if executable else "", new.decode()  # a byte order mark is content here
        yield [Form(path, "", Place.NEW_FILE, lines=text, keep_newlines="\r" in text, mode=mode)]
        return
    before = text_of(path, old)
    if path.endswith(".py") and (before.codec, before.bom) == (after.codec, after.bom):
        try:
            _ = before.tree, after.tree
            changes = line_changes(before.text, after.text)
            yield derive.forms(path, before, changes)
            yield [derive.whole(path, before, changes)]
        except Unreadable:
            pass
    if _is_utf8(old) and _is_utf8(new):
        yield [_as_text(path, old.decode(), new.decode())]


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _as_text(path: str, before: str, after: str) -> Form:
    changes = line_changes(before, after)
    ends = {line[len(line.rstrip("\r\n")) :] for change in changes for line in change.lines}
    return Form(path, "", Place.TEXT, lines=script.render(changes), keep_newlines=bool(ends & {"\r\n", "\r"}))


def line_changes(old: str, new: str) -> tuple[Change, ...]:
    """The changes between two texts, by git's own diff."""
    lines = split_lines(new)
    changes = []
    for line in diff_unified(old, new, "a", context=0).split("\n"):
        match = re.match(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", line)
        if match:
            at, gone = int(match[1]), int(match[2] or 1)
            start, count = int(match[3]), int(match[4] or 1)
            changes.append(Change(at if gone else at + 1, gone, tuple(lines[start - 1 : start - 1 + count])))
    return tuple(changes)


def name_of(form: Form, used: set[str]) -> str:
    """A name from the scope and the place that no other hunk of the patch has."""
    stem = Path(form.file).stem.strip("_") or "module"
    scope = re.sub(r"\[[^\]]*\]", "", form.scope).rpartition(".")[2].strip("_")
    word = "new" if form.place is Place.NEW_FILE else form.place.value
    base = re.sub(r"[^a-z0-9]+", "-", f"{stem}-{scope}-{word}".lower()).strip("-")[:80]
    name, number = base, 2
    while name in used:
        name, number = f"{base}-{number}", number + 1
    used.add(name)
    return name


def with_body(hunk: Hunk, index: int = 0, *, name: str = "") -> Hunk:
    """Longer lines go to a body file (called after the hunk, or `name`), short ones stay in the patch."""
    form = hunk.forms[index]
    scripted = form.place in (Place.EDIT, Place.TEXT)
    short = form.lines.count("\n") <= 2 and len(form.lines) <= 200
    plain = not scripted and form.place is not Place.NEW_FILE and not form.keep_newlines
    if form.place is Place.DELETE or (short and plain):
        return hunk.with_form(index, replace(form, body=None))
    suffix = ".edit" if scripted else Path(form.file).suffix or ".txt"
    return hunk.with_form(index, replace(form, body=(name or hunk.id).replace("-", "_") + suffix))


def own_body(hunk: Hunk, form: Form, tag: Tag) -> Form:
    """The form with a body file that only releases from `tag` on use; the hunk's other forms keep theirs."""
    word = re.sub(r"[^0-9a-z]+", "_", tag.name.lower())
    return with_body(hunk.with_form(0, form), name=f"{hunk.id}_{word}").forms[0]
