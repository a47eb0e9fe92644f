"""A hunk, a form or a patch as TOML."""

from __future__ import annotations

from collections.abc import Mapping

from rebasekit.model.hunk import Form, Hunk, Patch, Pin, Place
from rebasekit.patches.document import Document
from rebasekit.patches.form import inherited
from rebasekit.patches.render import pairs

Values = Mapping[str, object]

HEADER = ("title", "why", "origin", "forwarded", "removal", "depends")
HUNK: tuple[str, ...] = ("id", "file", "scope", "place", "at", "count", "to", "body", "lines", "newlines", "mode")
HUNK += ("uses", "needs", "relies", "tags", "why", "decision", "idle", "pin")
VARIANT = ("tags", *(key for key in HUNK if key != "tags"))


def pin_values(pin: Pin) -> dict[str, object]:
    """The inline table of a pin; what is not known is left out."""
    values: dict[str, object] = {"tag": pin.tag, "scope": pin.scope}
    optional = {"anchor": pin.anchor or None, "depth": pin.depth, "file": pin.file, "scope_name": pin.scope_name}
    return values | {key: value for key, value in optional.items() if value is not None}


def form_values(form: Form) -> dict[str, object]:
    """Every key of a form with its value, defaults included; no `body` and no `lines` for a delete hunk."""
    values: dict[str, object] = {
        "file": form.file,
        "scope": form.scope,
        "place": form.place.value,
        "at": form.at,
        "count": form.count,
        "to": form.to,
        "newlines": "keep" if form.keep_newlines else "lf",
        "mode": form.mode,
        "uses": list(form.uses),
        "needs": list(form.needs),
        "relies": list(form.relies),
        "tags": form.tags or "",
    }
    if form.place is not Place.DELETE:
        values |= {"lines": form.lines} if form.body is None else {"body": form.body}
    if form.pin is not None:
        values["pin"] = pin_values(form.pin)
    return values


def own_values(form: Form, base: Form | None) -> dict[str, object]:
    """The keys that have to be written: not the defaults, and for a variant not what it takes over from `base`."""
    if base is None:
        default = form_values(Form(file="", scope="", place=Place.DELETE)) | {"place": ""}
    else:
        taken = inherited(base, form.place)
        default = form_values(taken) | {"place": base.place.value}
        if base.place is Place.DELETE or taken.lines != form.lines or taken.body != form.body:
            default = {key: value for key, value in default.items() if key not in ("body", "lines")}
    return {key: value for key, value in form_values(form).items() if key not in default or default[key] != value}


def sync(document: Document, section: int, values: Values, own: Values, data: Values, order: tuple[str, ...]) -> None:
    """Make a section say `values`: change what differs, add what is in `own`, leave the rest as it is written.

    Keys that are not in `order` are not looked at; `data` is the section as it reads now.
    """
    for key in order:
        if key in data and (key not in values or (data[key] != values[key] and key not in own)):
            document.unset(section, key)
        elif (key in data and data[key] != values[key]) or (key not in data and key in own):
            document.set(section, key, values[key], order)


def hunk_values(hunk: Hunk) -> dict[str, object]:
    return {"id": hunk.id, **form_values(hunk.forms[0]), "why": hunk.why, "decision": hunk.decision, "idle": hunk.idle}


def own_hunk_values(hunk: Hunk) -> dict[str, object]:
    own = {"id": hunk.id, **own_values(hunk.forms[0], None)}
    prose = (("why", hunk.why), ("decision", hunk.decision), ("idle", hunk.idle))
    return own | {key: text for key, text in prose if text}


def header_values(patch: Patch) -> dict[str, object]:
    return {
        "title": patch.title,
        "why": patch.why,
        "origin": patch.origin,
        "forwarded": patch.forwarded,
        "removal": patch.removal,
        "depends": list(patch.depends),
    }


def own_header_values(patch: Patch) -> dict[str, object]:
    """What has to be written of a header: not the defaults."""
    default: dict[str, object] = {"origin": "", "forwarded": "no", "depends": []}
    return {key: value for key, value in header_values(patch).items() if key not in default or value != default[key]}


def _ordered(values: Values, order: tuple[str, ...]) -> dict[str, object]:
    return {key: values[key] for key in order if key in values}


def variant_text(form: Form, base: Form) -> str:
    return "[[hunk.variant]]\n" + pairs(_ordered(own_values(form, base), VARIANT))


def hunk_text(hunk: Hunk) -> str:
    base, *variants = hunk.forms
    parts = ["[[hunk]]\n" + pairs(_ordered(own_hunk_values(hunk), HUNK))]
    return "\n".join(parts + [variant_text(form, base) for form in variants])


def patch_text(patch: Patch) -> str:
    """A whole new `patch.toml`."""
    # Whether it went upstream is the first thing a reader asks, so `no` is said too.
    header = own_header_values(patch) | {"forwarded": patch.forwarded}
    return "\n".join([pairs(_ordered(header, HEADER)), *map(hunk_text, patch.hunks)])
