"""`upstream-map/resolutions/<key>.toml`: conflicts that a person resolved, by the digest of both sides."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from rebasekit.errors import PatchsetError
from rebasekit.model.hunk import Form
from rebasekit.model.tag import Tag
from rebasekit.patches.body import Folder
from rebasekit.patches.compose import VARIANT, form_values, own_values
from rebasekit.patches.files import Files
from rebasekit.patches.form import read_form
from rebasekit.patches.paths import name_problem
from rebasekit.patches.pattern import PatternCheck, check_pattern
from rebasekit.patches.problems import Problems
from rebasekit.patches.ranges import read_tag
from rebasekit.patches.recovery import reading
from rebasekit.patches.render import pairs
from rebasekit.patches.table import Table
from rebasekit.patches.toml import read_toml

FOLDER = "upstream-map/resolutions"
_KEY = re.compile(r"[0-9a-f]{8,128}")


@dataclass(frozen=True)
class Resolution:
    """The form that a person gave hunk `hunk` (`patch/id`) on `tag` where conflict `key` stood. Lines are inline."""

    key: str
    hunk: str
    tag: Tag
    why: str
    form: Form


def resolution_path(key: str) -> str:
    """The file of a conflict; raise PatchsetError for a key that is no digest."""
    if not _KEY.fullmatch(key):
        raise PatchsetError(FOLDER, f"`{key[:80]!a}` is not a conflict's key")
    return f"{FOLDER}/{key}.toml"


def dump_resolution(resolution: Resolution) -> str:
    """A resolution as TOML; the form loses its body file, range and pin, which belong to the patch."""
    if not resolution.why.strip():
        raise PatchsetError(resolution_path(resolution.key), "a resolution needs a reason (`why`)")
    form = replace(resolution.form, body=None, tags=None, pin=None)
    head = {"hunk": resolution.hunk, "tag": resolution.tag.name, "why": resolution.why}
    values, own = form_values(form), own_values(form, None)
    return pairs(head) + "\n[form]\n" + pairs({key: values[key] for key in VARIANT if key in own})


def load_resolution(root: Path, key: str, *, check: PatternCheck = check_pattern) -> Resolution | None:
    """The resolution of one conflict below `root`; None when there is none; raise PatchsetProblems."""
    root = root.resolve()
    with reading(root):
        files = Files(root)
        return _read(files, key, check) if files.exists(resolution_path(key)) else None


def load_resolutions(root: Path, *, check: PatternCheck = check_pattern) -> dict[str, Resolution]:
    """All resolutions below `root` by key; raise PatchsetProblems for the first file that is wrong."""
    root = root.resolve()
    with reading(root):
        files = Files(root)
        paths = [path for path in files.walk(FOLDER) if path.endswith(".toml")]
        return {key: _read(files, key, check) for key in (Path(path).stem for path in paths)}


def _read(files: Files, key: str, check: PatternCheck) -> Resolution:
    problems, shown = Problems(), resolution_path(key)
    data = read_toml(files, shown, shown, problems)
    problems.check()
    assert data is not None
    table = Table(data, shown, problems)
    hunk, tag = table.text("hunk", required=True, check=_hunk_problem), read_tag(table, "tag")
    why = table.prose("why", required=True)
    inner = table.table("form", required=True)
    table.close()
    form = _read_form(inner, files, check) if inner is not None else None
    problems.check()
    assert form is not None and tag is not None
    return Resolution(key, hunk, tag, why, form)


def _read_form(table: Table, files: Files, check: PatternCheck) -> Form | None:
    for key in ("body", "tags", "pin"):
        if key in table.data:
            table.problem(key, "has no place in a resolution")
    plain = Table({key: value for key, value in table.data.items() if key != "body"}, table.where, table.problems)
    form = read_form(plain, Folder(files, FOLDER), None, check)
    plain.close()
    return form


def _hunk_problem(text: str) -> str | None:
    parts = text.split("/")
    return None if len(parts) == 2 and not any(map(name_problem, parts)) else "is not `patch/hunk`"
