"""Import of a diff, then export on the same release, is the same tree: on made-up modules and on real changes."""

from __future__ import annotations

import ast
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from harness import Case, series
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rebasekit.model.tag import Tag
from rebasekit.steps.bench import Bench
from rebasekit.steps.import_ import _said
from rebasekit.steps.rework import Rework
from rebasekit.steps.workspace import Workspace
from rebasekit.steps.worktree import Found
from rebasekit.upstream.patchfile import FileChange

NAMES = st.sampled_from(["a", "b", "run", "value", "é"])
SIMPLE = st.one_of(
    st.builds("{} = {}".format, NAMES, st.integers(0, 3)),
    st.builds("{}({}, key={})".format, NAMES, NAMES, st.integers(0, 3)),
    st.builds("import {} as {}".format, st.sampled_from(["os", "sys"]), NAMES),
    st.just("pass"),
    st.just("# a comment"),
    st.just('text = """\n  kept\n as it is\n"""'),
    st.just("items = [\n    1,\n    2,\n]"),
    st.just(""),
)


def block(head: str, body: list[str]) -> str:
    lines = [line for part in body for line in part.split("\n")] or ["pass"]
    if not any(line.strip() and not line.strip().startswith("#") for line in lines):
        lines.append("pass")
    return "\n".join([head, *(f"    {line}" if line else line for line in lines)])


def compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    bodies = st.lists(inner, max_size=3)
    return st.one_of(
        st.builds(lambda n, b: block(f"def {n}(x, y=1):", b), NAMES, bodies),
        st.builds(lambda n, b: block(f"class {n.title()}:", b), NAMES, bodies),
        st.builds(lambda n, b: block(f"if {n}:", b), NAMES, bodies),
        st.builds(lambda n, a, b: block(f"if {n}:", a) + "\n" + block("else:", b), NAMES, bodies, bodies),
        st.builds(lambda n, b: block(f"@deco\ndef {n}():", b), NAMES, bodies),
    )


STATEMENT = st.recursive(SIMPLE, compound, max_leaves=5)
MODULE = st.lists(STATEMENT, max_size=7)


def parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


@st.composite
def changes(draw: st.DrawFn) -> tuple[bytes, bytes, bytes]:
    """A module, the module changed, and changed again: statements and single lines come, go and move."""
    parts = draw(MODULE)

    def text(parts: list[str]) -> str:
        return "\n".join(parts) + ("\n" if parts else "")

    versions = [text(parts)]
    for _ in range(2):
        for _ in range(draw(st.integers(1, 3))):
            at = draw(st.integers(0, len(parts)))
            kind = draw(st.sampled_from(["add", "drop", "swap", "line"]))
            if kind == "add" or not parts:
                parts = [*parts[:at], draw(STATEMENT), *parts[at:]]
            elif kind == "drop":
                parts = [*parts[:at], *parts[at + 1 :]]
            elif kind == "swap":
                parts = [*parts[at:], *parts[:at]]
            else:
                lines = text(parts).split("\n")
                row = draw(st.integers(0, len(lines) - 1))
                indent = " " * (len(lines[row]) - len(lines[row].lstrip()))
                lines.insert(row, indent + draw(st.sampled_from(["z = 9", "call()", ""])))
                if parses("\n".join(lines)):
                    parts = ["\n".join(lines).rstrip("\n")]
        versions.append(text(parts))
    ending = draw(st.sampled_from(["\n", "\r\n"]))
    last = draw(st.sampled_from(["", ending]))
    done = [v.replace("\n", ending).removesuffix(ending) + (last if v else "") for v in versions]
    return done[0].encode(), done[1].encode(), done[2].encode()


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    root = tmp_path_factory.mktemp("properties")
    case = Case(root, {"v1.0.0": {"m.py": "x = 1\n"}}, {"series.toml": series("v1.0.0", patches=[])})
    assert case.run("rebase", "v1.0.0").exit == 0
    return Workspace(case.project, case.cache)


class Made(Bench):
    """A bench whose release holds one file."""

    text = b""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.trees._data[(self.tag.name, "m.py")] = self.text


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(changes())
def test_import_and_refresh_on_made_up_modules(space: Workspace, versions: tuple[bytes, bytes, bytes]) -> None:
    """The hunks of old → new give new; refreshed to a third version, they give that, and with nothing left, none."""
    old, new, third = versions
    tag = Tag("v1.0.0")
    bench = type("One", (Made,), {"text": old})(space, tag, "p")
    hunks = _said(bench, FileChange("m.py", old, new), set()) if old != new else []
    trial = bench.try_file("m.py", hunks)
    assert trial is not None and trial.data == new
    for wanted in (third, old):
        placements = {p.hunk: p for p in (bench.try_file("m.py", hunks) or trial).placements}
        now = bench.try_file("m.py", hunks)
        assert now is not None
        work = Rework(bench, Found("m.py", wanted), list(hunks), placements, old, now.data, {h.id for h in hunks})
        hunks = work.hunks() if wanted != now.data else hunks
        done = bench.try_file("m.py", hunks)
        assert done is not None and done.data == wanted
        assert len({h.id for h in hunks}) == len(hunks)
    assert hunks == []


@pytest.mark.release
def test_real_changes_of_sglang(release_store, need_release, tmp_path: Path) -> None:
    """Forty files between two releases: the diff becomes hunks, and the hunks the same diff."""
    old, new = need_release("v0.5.19", "v0.5.20")
    before, after = release_store.files(old), release_store.files(new)
    paths = sorted(p for p in {*before, *after} if before.get(p) != after.get(p))
    random.Random(5).shuffle(paths)
    args = [
        "diff",
        "--no-renames",
        "--binary",
        "--full-index",
        "--no-color",
        old.name,
        new.name,
        "--",
        *sorted(paths[:40]),
    ]
    wanted = subprocess.run(["git", *args], cwd=release_store.git_dir, check=True, capture_output=True).stdout
    (tmp_path / "patchset").mkdir()
    text = 'base = "v0.5.19"\npatches = []\n\n[upstream]\nkind = "pypi"\npackage = "sglang"\n'
    (tmp_path / "patchset/series.toml").write_text(text)
    (tmp_path / "x.diff").write_bytes(wanted)
    from rebasekit.steps.export import export_diff
    from rebasekit.steps.import_ import Wanted, import_patch

    cache = release_store.root.parents[1]
    header = {"why": "w", "removal": "r"}
    import_patch(Workspace(tmp_path, cache), str(tmp_path / "x.diff"), "x", Wanted(old, header))
    assert export_diff(Workspace(tmp_path, cache), old) == wanted
    shutil.rmtree(tmp_path / "patchset/x")
