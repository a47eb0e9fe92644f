"""Cases that are folders: `vX/` per release, `patchset/`, and in `allowed/N/` each tree that may come out.

`allowed/N/` holds only the files that differ from the last release; without `allowed/` a person has to be asked. A
case in `failing/` is known to come out wrong, and has to be moved when it no longer does.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from harness import Case, Result, as_bytes, read_tree

from rebasekit.model.tag import Tag
from rebasekit.steps.rebase import branch_of
from rebasekit.steps.workspace import Workspace

WHERE = {"misplaced", "upstreamed", "partly-upstreamed", "duplicate-definition", "not-reversible", "unread"}
HERE = Path(__file__).parent
WORKING = sorted(path for path in (HERE / "working").glob("*") if path.is_dir())
FAILING = sorted(path for path in (HERE / "failing").glob("*") if path.is_dir())


def comes_out(folder: Path, root: Path) -> str:
    """`asked`, `right`, or why a tree that nobody was told about is wrong."""
    tags = {path.name: read_tree(path) for path in sorted(folder.glob("v*"))}
    old, new = list(tags)
    case = Case(root, tags, folder / "patchset")
    assert not asked(case.run("rebase", old)), "the hunks have their places where they were written"
    result = case.run("rebase", new)
    assert result.exit in (0, 1, 3), result.stderr
    if asked(result):
        return "asked"
    space, branch = Workspace(case.project, case.cache), branch_of(Tag.parse(new))
    have = {path: space.store.read(branch, path) for path in space.store.files(branch)}
    reasons = []
    for allowed in sorted(folder.glob("allowed/*")):
        wanted = {path: as_bytes(data) for path, data in (tags[new] | read_tree(allowed)).items()}
        wrong = [p for p in sorted({*wanted, *have}) if meaning(p, wanted.get(p)) != meaning(p, have.get(p))]
        if not wrong:
            return "right"
        reasons.append(f"unlike {allowed.name} in {', '.join(wrong)}")
    return "; ".join(reasons) or "nobody was asked"


def asked(result: Result) -> bool:
    """Whether a person is told where a hunk went, or that it went nowhere. Made-up names are bound by nobody."""
    return bool(set(result.placements.values()) - {"carried", "shifted", "relocated"} or set(result.kinds) & WHERE)


def meaning(path: str, data: bytes | None) -> object:
    return ast.dump(ast.parse(data)) if data is not None and path.endswith(".py") else data


@pytest.mark.parametrize("folder", WORKING, ids=lambda path: path.name)
def test_working(folder: Path, tmp_path: Path) -> None:
    assert comes_out(folder, tmp_path) in ("asked", "right")


@pytest.mark.parametrize("folder", FAILING, ids=lambda path: path.name)
def test_failing(folder: Path, tmp_path: Path) -> None:
    assert comes_out(folder, tmp_path) not in ("asked", "right"), "it works: move it to working/"
