"""One folder of `patchset/`: its header, its hunks, and the files that belong to it."""

from __future__ import annotations

import re

from rebasekit.model.hunk import Patch
from rebasekit.patches.body import Folder, body_path
from rebasekit.patches.files import Files
from rebasekit.patches.hunks import read_hunks
from rebasekit.patches.paths import line_problem, name_problem
from rebasekit.patches.pattern import PatternCheck
from rebasekit.patches.problems import Problems, short
from rebasekit.patches.table import Table
from rebasekit.patches.toml import read_toml

_URL = re.compile(r"https?://[^\s<>\"]{3,2000}")


def read_patch(files: Files, path: str, check: PatternCheck, problems: Problems) -> Patch | None:
    """Read the patch in folder `path`; None when it cannot be read at all."""
    name = path.rsplit("/", 1)[-1]
    shown = f"{path}/patch.toml"
    message = name_problem(name)
    if message:
        problems.add(path, f"{short(name)} {message}")
        return None
    parent = path.rsplit("/", 1)[0] if "/" in path else "."
    if not files.inside(f"{path}/patch.toml", path) or (files.root / path).is_symlink():
        problems.add(shown, f"leads out of `{parent}` through a link")
        return None
    data = read_toml(files, shown, shown, problems)
    if data is None:
        return None
    table = Table(data, shown, problems)
    forwarded = table.text("forwarded", default="no")
    if forwarded not in ("no", "not-needed") and not _URL.fullmatch(forwarded):
        table.problem("forwarded", f"{short(forwarded)} is none of `no`, `not-needed` or a URL")
    depends = table.texts("depends", check=name_problem)
    if name in depends:
        table.problem("depends", f"`{name}` depends on itself")
    header = (
        table.text("title", required=True, check=line_problem),
        table.prose("why", required=True),
        table.prose("removal", required=True),
        table.prose("origin"),
    )
    folder = Folder(files, path)
    hunks = read_hunks(name, table.tables("hunk"), shown, folder, check, problems)
    table.close()
    patch = Patch(name, *header, forwarded, depends, hunks)
    _warn_unused(files, path, patch, problems)
    return patch


def _warn_unused(files: Files, path: str, patch: Patch, problems: Problems) -> None:
    """Warn of files that no hunk uses: often a body that was renamed in one place only."""
    used = {f"{path}/patch.toml"} | bodies(path, patch)
    if any(error.where.startswith(f"{path}/patch.toml") for error in problems.errors):
        return  # what could not be read may use them
    for file in files.walk(path):
        parts = file.removeprefix(f"{path}/").split("/")
        ours = parts[0] in ("tests", "docs", "__pycache__") or parts[-1].endswith(".md")
        if file not in used and not ours and not any(part.startswith(".") for part in parts):
            problems.warn(f"{path}/patch.toml", f"no hunk uses {short('/'.join(parts))}")


def bodies(path: str, patch: Patch) -> set[str]:
    """Paths below the root of all body files that the patch uses."""
    forms = [form for hunk in patch.hunks for form in hunk.forms if form.body is not None]
    return {body_path(path, form.body, form.place) for form in forms if form.body is not None}
