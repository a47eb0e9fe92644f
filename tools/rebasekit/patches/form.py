"""One form of a hunk: the base form, or a variant laid over it."""

from __future__ import annotations

from dataclasses import replace

from rebasekit.model.hunk import Form, Pin, Place
from rebasekit.patches.body import Folder, read_lines
from rebasekit.patches.paths import path_problem
from rebasekit.patches.pattern import PatternCheck
from rebasekit.patches.problems import short
from rebasekit.patches.ranges import range_problem, read_tag
from rebasekit.patches.table import Table

PLACES = tuple(place.value for place in Place)
AT_NEEDED = frozenset({Place.BEFORE, Place.AFTER, Place.REPLACE, Place.DELETE, Place.ELEMENT, Place.ARGUMENT})
AT_ALLOWED = AT_NEEDED | {Place.FIRST, Place.LAST}
FORM_KEYS: tuple[str, ...] = ("file", "scope", "place", "at", "count", "body", "lines", "to", "newlines", "mode")
FORM_KEYS += ("uses", "needs", "relies", "tags", "pin")
UNSCOPED = frozenset({Place.NEW_FILE, Place.TEXT})


def inherited(base: Form, place: Place) -> Form:
    """What a variant with this place takes over from the base form: all that has a meaning there, never the pin."""
    at = base.at if place in AT_ALLOWED else ""
    return replace(
        base,
        place=place,
        at=at,
        count=base.count if at else 1,
        scope="" if place in UNSCOPED else base.scope,
        lines="" if place is Place.DELETE else base.lines,
        body=None if place is Place.DELETE else base.body,
        mode=base.mode if place is Place.NEW_FILE else "",
        tags=None,
        pin=None,
    )


def read_form(table: Table, folder: Folder, base: Form | None, check: PatternCheck) -> Form | None:
    """Read a form's keys; None when there is nothing to build on. Problems go to the table."""
    before = len(table.problems.errors)
    name = table.choice("place", PLACES, required=base is None, default=base.place.value if base else "")
    file = table.text("file", required=base is None, check=path_problem, default=base.file if base else "")
    tags = table.text("tags", required=base is not None, check=range_problem)
    if not name:
        # The rest is still asked for, so that it is not taken for unknown keys.
        for key in FORM_KEYS:
            table.has(key)
        return None
    place = Place(name)
    form = inherited(base, place) if base else Form(file=file, scope="", place=place)
    keep = table.choice("newlines", ("lf", "keep"), default="keep" if form.keep_newlines else "lf") == "keep"
    at = _at(table, place, form.at, check)
    found = read_lines(table, folder, place, keep)
    lines, body = found if found is not None else (form.lines, form.body)
    if found is None and base is None and place is not Place.DELETE and not (table.has("body") or table.has("lines")):
        table.problem("body", "is missing; a hunk has `body` or `lines`")
    elif found is None and base is not None and base.place is Place.DELETE is not place:
        table.problem("body", "is missing, and the base form has no lines to take over")
    form = replace(
        form,
        file=file,
        scope=_scope(table, place, form.scope),
        at=at,
        count=_count(table, at, form.count),
        lines=lines,
        body=body,
        to=table.text("to", default=form.to),
        keep_newlines=keep,
        mode=_mode(table, place, form.mode),
        uses=table.texts("uses") if table.has("uses") else form.uses,
        needs=table.texts("needs") if table.has("needs") else form.needs,
        relies=table.texts("relies") if table.has("relies") else form.relies,
        tags=tags or None,
        pin=_pin(table),
    )
    if found is None and "\r" in form.lines and not keep and len(table.problems.errors) == before:
        table.problem("newlines", "is `lf`, and the lines taken over have carriage returns")
    return form


def _scope(table: Table, place: Place, default: str) -> str:
    scope = table.text("scope", default=default)
    if scope and place in UNSCOPED:
        table.problem("scope", f"is not used with place `{place.value}`")
    elif scope and (scope != scope.strip() or scope.startswith(".") or scope.endswith(".")):
        table.problem("scope", f"{short(scope)} is not a qualified name")
    return scope


def _at(table: Table, place: Place, default: str, check: PatternCheck) -> str:
    text = table.raw("at")
    text = default if text is None else text
    if place not in AT_ALLOWED:
        if text:
            table.problem("at", f"is not used with place `{place.value}`")
        return ""
    if not text.strip():
        whole_file = place is Place.DELETE and not table.raw("scope")
        if place in AT_NEEDED and not whole_file:
            table.problem("at", f"is missing; place `{place.value}` needs a pattern")
        return ""
    try:
        check(text)
    except ValueError as error:
        table.problem("at", f"{short(text)} {error}")
    return text


def _count(table: Table, at: str, default: int) -> int:
    count = table.number("count", 1, 1000, default=default)
    if count != 1 and not at:
        table.problem("count", "counts the matches of `at`, which is not given")
        return 1
    return count


def _mode(table: Table, place: Place, default: str) -> str:
    mode = table.choice("mode", ("", "executable"), default=default)
    if mode and place is not Place.NEW_FILE:
        table.problem("mode", "is for new files only")
    return mode


def _pin(table: Table) -> Pin | None:
    pin = table.table("pin")
    if pin is None:
        return None
    tag = read_tag(pin, "tag")
    found = Pin(
        tag=tag.name if tag else "",
        scope=pin.text("scope", required="scope" not in pin.data),  # empty for a file that has no scope
        anchor=pin.text("anchor"),
        depth=pin.number("depth", 0, 1000) if pin.has("depth") else None,
        file=pin.text("file", check=path_problem) or None,
        scope_name=pin.text("scope_name") if pin.has("scope_name") else None,
    )
    pin.close()
    return found
