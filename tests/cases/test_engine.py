"""How real downstream patches went wrong without anyone noticing, and what this engine says instead."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from harness import Case, Result, patch_toml


def text(source: str) -> str:
    return textwrap.dedent(source).lstrip("\n")


def hunk(**keys: object) -> str:
    return "\n".join(f"{k} = {v!r}" if isinstance(v, int) else f"{k} = '''{v}'''" for k, v in keys.items())


def build(tmp_path: Path, old: dict[str, str], new: dict[str, str], *hunks: str, **patches: str) -> Case:
    trees = {"v1.0.0": {p: text(t) for p, t in old.items()}, "v1.1.0": {p: text(t) for p, t in new.items()}}
    files = {f"{name}/patch.toml": body for name, body in patches.items()} or {"fix/patch.toml": patch_toml(*hunks)}
    return Case(tmp_path, upstream=trees, patchset=files)


def tree(case: Case, tag: str = "v1.1.0") -> dict[str, str]:
    """The patched tree that the branch of the store holds."""
    out = case.root / f"tree-{tag}"
    done = case.run("export", "--tag", tag, "--diff", json=False)
    assert done.exit == 0, done.stderr
    case.git("worktree", "add", "--force", "--detach", str(out), tag)
    import subprocess

    subprocess.run(
        ["git", "apply", "--allow-empty", "-"], cwd=out, input=done.stdout.encode(), env=case.env, check=True
    )
    return {p.relative_to(out).as_posix(): p.read_text() for p in sorted(out.rglob("*.py"))}


def rebase(case: Case, tag: str = "v1.1.0") -> Result:
    result = case.run("rebase", tag)
    assert result.json is not None, result.stderr
    return result


def branch(case: Case, tag: str) -> bool:
    """Whether the store holds a branch for the tag."""
    return any(case.cache.rglob(f"refs/heads/rebasekit/{tag}"))


TWINS = """
    def one(x):
        check(x)
        return x + 1


    def two(x):
        check(x)
        return x + 2


    def three(x):
        check(x)
        return x + 3
"""


def test_fuzz_lands_in_the_twin(tmp_path: Path) -> None:
    gone = TWINS.replace("def two(x):\n        check(x)\n        return x + 2\n\n\n    ", "")
    assert "two" not in gone
    case = build(
        tmp_path,
        {"m.py": TWINS},
        {"m.py": gone},
        hunk(id="h", file="m.py", scope="two", place="after", at="check(x)", lines="x = abs(x)"),
    )
    result = rebase(case)
    assert result.exit == 3
    assert result.placements == {"fix/h": "missing"}
    assert "three" in [spot["scope"] for spot in result.hunk("h")["candidates"]]
    assert not branch(case, "v1.1.0")
    assert case.run("apply", "--tag", "v1.1.0", "--to", str(case.repository), json=False).exit != 0


CLASS = """
    class Pool:
        def get(self):
            return self.size

        def put(self, n):
            self.size = n
"""


def test_upstreamed_lower_down(tmp_path: Path) -> None:
    method = "\n        def clear(self):\n            self.size = 0\n"
    case = build(
        tmp_path,
        {"m.py": CLASS},
        {"m.py": CLASS + method},
        hunk(
            id="h",
            file="m.py",
            scope="Pool",
            place="after",
            at="def get(...): ...",
            lines="\ndef clear(self):\n    self.size = 0",
        ),
    )
    result = rebase(case)
    assert result.placements == {"fix/h": "upstreamed"}
    assert result.exit == 1  # a person retires the hunk
    assert tree(case)["m.py"] == text(CLASS + method)


def test_upstreamed_lower_down_in_another_spelling(tmp_path: Path) -> None:
    """The cousin: the same name with another body is no `upstreamed`, and never a second definition."""
    method = "\n        def clear(self):\n            self.size = len(self.free)\n"
    case = build(
        tmp_path,
        {"m.py": CLASS},
        {"m.py": CLASS + method},
        hunk(
            id="h",
            file="m.py",
            scope="Pool",
            place="after",
            at="def get(...): ...",
            lines="\ndef clear(self):\n    self.size = 0",
        ),
    )
    result = rebase(case)
    assert (result.exit, result.placements) == (3, {"fix/h": "conflict"})
    assert "clear" in result.hunk("h")["reason"]


RUN = """
    def run(self):
        prepare(self)
        work(self)
        finish(self)
"""


def test_upstreamed_behind_a_guard(tmp_path: Path) -> None:
    new = RUN.replace("work(self)\n", "work(self)\n        if self.option:\n            flush(self.pool, force=True)\n")
    case = build(
        tmp_path,
        {"m.py": RUN},
        {"m.py": new},
        hunk(id="h", file="m.py", scope="run", place="after", at="prepare(self)", lines="flush(self.pool, force=True)"),
    )
    result = rebase(case)
    assert result.exit == 1
    finding = result.hunk("h")["findings"][0]
    assert finding["kind"] == "upstreamed"
    assert "self.option" in finding["message"]
    assert finding["line"] == 5


def test_applied_means_changed(tmp_path: Path) -> None:
    case = build(
        tmp_path,
        {"m.py": RUN},
        {"m.py": RUN.replace("work(self)", "labour(self)")},
        hunk(id="h", file="m.py", scope="run", place="after", at="work(self)", lines="log(self)"),
    )
    before = case.snapshot()
    result = rebase(case)
    assert (result.exit, result.placements) == (3, {"fix/h": "missing"})
    target = tmp_path / "target"
    target.mkdir()
    (target / "m.py").write_text(text(RUN.replace("work(self)", "labour(self)")))
    assert case.run("apply", "--tag", "v1.1.0", "--to", str(target), json=False).exit != 0
    assert (target / "m.py").read_text() == text(RUN.replace("work(self)", "labour(self)"))
    after = {p: d for p, d in case.snapshot().items() if not p.startswith("upstream-map/")}
    assert after == before


def test_dependent_goes_dead(tmp_path: Path) -> None:
    a = patch_toml(
        hunk(
            id="limit", file="m.py", scope="run", place="after", at="prepare(self)", lines="limit = bound(self.free, 8)"
        ),
        title="a",
    )
    b = patch_toml(
        hunk(id="use", file="m.py", scope="run", place="after", at="limit = ...", lines="self.limit = limit"),
        title="b",
        depends="",
    ).replace('depends = ""', 'depends = ["a"]')
    new = RUN.replace(
        "prepare(self)\n", "prepare(self)\n        limit: int = bound(\n            self.free, 8\n        )\n"
    )
    case = build(tmp_path, {"m.py": RUN}, {"m.py": new}, a=a, b=b)
    assert rebase(case, "v1.0.0").placements == {"a/limit": "carried", "b/use": "carried"}
    result = rebase(case)
    assert result.placements == {"a/limit": "upstreamed", "b/use": "missing"}
    assert result.exit == 3
    assert "anchored on a retired hunk" in result.hunk("b/use")["reason"]
    assert "a/limit" in result.hunk("b/use")["reason"]


def test_half_upstreamed(tmp_path: Path) -> None:
    new = RUN.replace("prepare(self)\n", "prepare(self)\n        flush(self)\n")
    case = build(
        tmp_path,
        {"m.py": RUN},
        {"m.py": new},
        hunk(id="one", file="m.py", scope="run", place="after", at="prepare(self)", lines="flush(self)"),
        hunk(id="two", file="m.py", scope="run", place="before", at="finish(self)", lines="print(self)"),
    )
    result = rebase(case)
    assert result.placements == {"fix/one": "upstreamed", "fix/two": "shifted"}
    assert (result.exit, result.kinds) == (1, ["partly-upstreamed"])
    assert tree(case)["m.py"] == text(new).replace("    finish", "    print(self)\n    finish")


def test_crlf_patchset_is_an_error(tmp_path: Path) -> None:
    case = build(
        tmp_path,
        {"m.py": RUN},
        {"m.py": RUN},
        hunk(id="h", file="m.py", scope="run", place="after", at="work(self)", body="h.py"),
    )
    case.write({"patchset/fix/h.py": b"log(self)\r\nlog(self)\r\n"})
    result = case.run("rebase", "v1.1.0")
    assert result.exit == 2
    assert "h.py" in result.stderr
    assert "autocrlf" in result.stderr


def test_crlf_upstream_keeps_its_line_ends(tmp_path: Path) -> None:
    crlf = text(RUN).replace("\n", "\r\n")
    toml = patch_toml(hunk(id="h", file="m.py", scope="run", place="after", at="work(self)", lines="log(self)\nlog(2)"))
    case = Case(
        tmp_path,
        upstream={"v1.0.0": {"m.py": crlf.encode()}, "v1.1.0": {"m.py": b"x = 1\r\n" + crlf.encode()}},
        patchset={"fix/patch.toml": toml},
    )
    assert rebase(case).placements == {"fix/h": "carried"}
    target = tmp_path / "target"
    target.mkdir()
    (target / "m.py").write_bytes(case.pristine("v1.1.0")["m.py"])
    assert case.run("apply", "--tag", "v1.1.0", "--to", str(target), json=False).exit == 0
    data = (target / "m.py").read_bytes()
    assert (
        data == b"x = 1\r\n" + crlf.replace("work(self)\r\n", "work(self)\r\n    log(self)\r\n    log(2)\r\n").encode()
    )


def test_second_apply(tmp_path: Path) -> None:
    case = build(
        tmp_path,
        {"m.py": RUN, "n.py": RUN},
        {"m.py": RUN, "n.py": RUN},
        hunk(id="m", file="m.py", scope="run", place="after", at="work(self)", lines="log(self)"),
        hunk(id="n", file="n.py", scope="run", place="after", at="work(self)", lines="log(self)"),
    )
    target = tmp_path / "target"
    target.mkdir()
    for name in ("m.py", "n.py"):
        (target / name).write_text(text(RUN))
    apply = ("apply", "--tag", "v1.1.0", "--to", str(target))
    assert case.run(*apply, json=False).exit == 0
    once = (target / "m.py").read_bytes()
    again = case.run(*apply, json=False)
    assert again.exit == 4
    assert "already applied" in again.stderr
    assert (target / "m.py").read_bytes() == once
    (target / "n.py").write_text(text(RUN))  # as if one hunk had been missing the first time
    assert case.run(*apply, json=False).exit == 4
    assert (target / "m.py").read_bytes() == once
    assert (target / "n.py").read_text() == text(RUN)


def test_anchor_matches_twice(tmp_path: Path) -> None:
    case = build(
        tmp_path,
        {"m.py": RUN},
        {"m.py": RUN.replace("finish(self)", "if self.again:\n            work(self)\n        finish(self)")},
        hunk(id="h", file="m.py", scope="run", place="after", at="work(self)", lines="log(self)"),
    )
    result = rebase(case)
    assert (result.exit, result.placements) == (3, {"fix/h": "ambiguous"})
    assert [spot["line"] for spot in result.hunk("h")["candidates"]] == [3, 5]


NESTED = """
    def run(self):
        if self.ready:
            work(self)
            finish(self)
        return self
"""


def test_dedent(tmp_path: Path) -> None:
    flat = """
    def run(self):
        if not self.ready:
            return self
        work(self)
        finish(self)
        return self
    """
    case = build(
        tmp_path,
        {"m.py": NESTED},
        {"m.py": flat},
        hunk(id="h", file="m.py", scope="run", place="after", at="work(self)", lines="log(self)"),
    )
    result = rebase(case)
    assert result.exit != 0
    if result.hunk("h")["placement"] in ("carried", "shifted"):
        assert "misplaced" in result.kinds
        assert "    work(self)\n    log(self)\n" in tree(case)["m.py"]
    else:
        assert result.hunk("h")["placement"] == "conflict"


def test_inside_somebody_elses_repository(tmp_path: Path) -> None:
    case = build(
        tmp_path,
        {"m.py": RUN},
        {"m.py": RUN},
        hunk(id="h", file="m.py", scope="run", place="after", at="work(self)", lines="log(self)"),
    )
    outer = tmp_path / "outer"
    target = outer / "vendor" / "pkg"
    target.mkdir(parents=True)
    import subprocess

    subprocess.run(["git", "init", "-q", str(outer)], env=case.env, check=True)
    (outer / "m.py").write_text(text(RUN))
    (target / "m.py").write_text(text(RUN))
    assert case.run("apply", "--tag", "v1.1.0", "--to", str(target), json=False).exit == 0
    assert (target / "m.py").read_text() == text(RUN).replace("work(self)\n", "work(self)\n    log(self)\n")
    assert (outer / "m.py").read_text() == text(RUN)


@pytest.mark.parametrize("changed", [False, True])
def test_rename_swallowed(tmp_path: Path, changed: bool) -> None:
    old = CLASS + "\n\n    def helper(pool):\n        return pool.get() + 1\n"
    new = old.replace("self.size = n", "self.size = int(n)") if changed else old
    case = build(
        tmp_path,
        {"parts/pool_part.py": old, "other.py": "x = 1\n"},
        {"parts/pool.py": new, "other.py": "x = 1\n"},
        hunk(id="h", file="parts/pool_part.py", scope="Pool.put", place="first", lines="print(n)"),
    )
    result = rebase(case)
    assert (result.exit, result.placements) == (0, {"fix/h": "relocated"})
    assert result.hunk("h")["file"] == "parts/pool.py"
    assert "    def put(self, n):\n        print(n)\n" in tree(case)["parts/pool.py"]
