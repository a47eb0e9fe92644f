"""`patchset/series.toml`: the order of the patches, the base tag, the upstream source, the deployment's facts."""

from __future__ import annotations

import re
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from rebasekit.model.hunk import Patch, Series, UpstreamSource
from rebasekit.model.tag import Tag
from rebasekit.patches.files import Files
from rebasekit.patches.folder import read_patch
from rebasekit.patches.order import check_order
from rebasekit.patches.paths import line_problem, name_problem, path_problem
from rebasekit.patches.pattern import PatternCheck
from rebasekit.patches.problems import Problems, short
from rebasekit.patches.ranges import read_tag
from rebasekit.patches.table import Table
from rebasekit.patches.toml import read_toml

_PACKAGE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")
_ENTRY = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*(:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*)?")


def read_series(files: Files, patchset: str, check: PatternCheck, problems: Problems) -> Series | None:
    """Read the series and every patch that it names."""
    shown = f"{patchset}/series.toml"
    data = read_toml(files, shown, shown, problems)
    if data is None:
        return None
    table = Table(data, shown, problems)
    base = read_tag(table, "base")
    names = table.texts("patches", required=True, check=name_problem)
    source = _source(table)
    entries = table.texts("entries", check=lambda text: None if _ENTRY.fullmatch(text) else "is not a dotted name")
    deployment, environment = table.table("deployment"), table.table("environment")
    python = table.text("requires-python", check=_python_problem)
    table.close()
    if deployment is not None:
        _check_facts(deployment)
    pins = {key: environment.text(key, required=True) for key in environment.data} if environment else {}
    patches = _patches(files, patchset, names, check, problems, shown)
    check_order(patchset, names, patches, problems)
    for folder in files.folders(patchset):
        if folder not in names:
            problems.warn(f"{shown}: patches", f"the folder {short(folder)} is not in the list, so it is not applied")
    return Series(
        base=base or Tag("v0"),
        source=source,
        patches=patches,
        entries=entries,
        deployment=dict(deployment.data) if deployment else {},
        environment=pins,
        requires_python=python,
    )


def _patches(
    files: Files, patchset: str, names: tuple[str, ...], check: PatternCheck, problems: Problems, shown: str
) -> tuple[Patch, ...]:
    found = []
    for name in names:
        if not files.exists(f"{patchset}/{name}/patch.toml"):
            problems.add(f"{shown}: patches", f"there is no `{patchset}/{name}/patch.toml`")
            continue
        patch = read_patch(files, f"{patchset}/{name}", check, problems)
        if patch is not None:
            found.append(patch)
    return tuple(found)


def _source(table: Table) -> UpstreamSource:
    upstream = table.table("upstream", required=True)
    if upstream is None:
        return UpstreamSource("pypi")
    kind = upstream.choice("kind", ("pypi", "git"), required=True)
    package = upstream.text("package", required=kind == "pypi", check=_package_problem)
    url = upstream.text("url", required=kind == "git", check=_url_problem)
    prefix = upstream.text("prefix", check=lambda text: path_problem(text.rstrip("/")) if text else None)
    link = upstream.text("link", check=_link_problem)
    upstream.close()
    return UpstreamSource(kind, package, url, prefix, link)


def _package_problem(text: str) -> str | None:
    return None if _PACKAGE.fullmatch(text) else "is not a package name"


def _url_problem(text: str) -> str | None:
    # `-…` would be read as an option by git, and `helper::…` runs a program.
    if text.startswith("-") or re.match(r"[A-Za-z0-9+._-]*::", text):
        return "is not a URL or path that is safe to hand to git"
    return line_problem(text)


def _link_problem(text: str) -> str | None:
    shape = r"https?://[^\s<>\"'`|(){}]+"
    if not re.fullmatch(shape, re.sub(r"\{(tag|file|line)\}", "x", text)) or "{file}" not in text:
        return "is not an address with `{tag}`, `{file}` and `{line}`"
    return line_problem(text)


def _python_problem(text: str) -> str | None:
    try:
        SpecifierSet(text)
    except InvalidSpecifier:
        return "is not a range of Python versions such as `>=3.10`"
    return line_problem(text)


def _check_facts(deployment: Table) -> None:
    def fits(value: Any) -> bool:
        if isinstance(value, (list, dict)):
            return all(fits(item) for item in (value.values() if isinstance(value, dict) else value))
        return isinstance(value, (str, bool, int, float))

    for key, value in deployment.data.items():
        if line_problem(key) is not None:
            deployment.problem(short(key)[1:-1], "has a control character in its name")
        if not fits(value):
            deployment.problem(short(key)[1:-1], "must be a string, number, boolean, or a list or table of them")
