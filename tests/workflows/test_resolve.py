"""`resolve`, edit, `--continue`: the hunk's form for that release, remembered for the next conflict of the kind."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from harness import Case, patch_toml, series

A = """
def one(x):
    y = x + 1
    y = check(y)
    return y


def two(x):
    z = x + 2
    return z
"""
NEW = A.replace("    y = x + 1\n    y = check(y)\n", "    y = check(x + 1)\n")
ONE = 'id = "one"\nfile = "pkg/a.py"\nscope = "one"\nplace = "replace"\nat = "y = x + 1"\nlines = "y = x + 5"'
ONE += '\ndecision = "d"'
TWO = 'id = "two"\nfile = "pkg/a.py"\nscope = "two"\nplace = "before"\nat = "return z"\nlines = "z *= 3"'


def project(flow, *versions, hunks=(ONE, TWO)):
    tags = {
        f"v1.{n}.0": {"pkg/__init__.py": "", **(v if isinstance(v, dict) else {"pkg/a.py": v})}
        for n, v in enumerate(versions)
    }
    return flow(tags, {"series.toml": series("v1.0.0", patches=["p"]), "p/patch.toml": patch_toml(*hunks)})


def opened(case, name="p/one", tag="v1.1.0"):
    return Path(case.ok("resolve", name, "--tag", tag).strip())


def settle(file, old, new):
    """Take the conflict out and put a statement instead of upstream's."""
    text = re.sub(r"(?ms)^<<<<<<<.*?^=======\n(.*?)^>>>>>>>[^\n]*\n", r"\1", file.read_text())
    assert text.count(old) == 1, text
    file.write_text(text.replace(old, new))


@pytest.fixture
def case(flow):
    made = project(flow, A, NEW, NEW.replace("return z", "return  z"))
    assert made.run("rebase", "v1.1.0").exit == 3
    return made


def test_the_whole_way(case):
    older = case.run("rebase", "v1.0.0").json["hunks"]
    file = opened(case)
    text = file.read_text()
    assert text.count("<<<<<<<") == 1 and "|||||||" in text and "y = x + 5" in text and "z *= 3" in text
    settle(file, "check(x + 1)", "check(x + 5)")
    out = case.ok("resolve", "p/one", "--continue", "--tag", "v1.1.0", "--why", "the sum moved into the call")
    assert out.startswith("p/one has a form for >=v1.1.0: replace in one")
    toml = case.flat()
    assert 'tags = ">=v1.1.0"' in toml and "the sum moved into the call" in toml and toml.count("pin") == 1
    assert len(list((case.project / "upstream-map/resolutions").glob("*.toml"))) == 1
    result = case.run("rebase", "v1.1.0")
    assert result.exit == 0 and result.hunk("p/one")["placement"] == "carried"
    assert b"y = check(x + 5)" in case.exported("v1.1.0")["pkg/a.py"]
    assert case.run("rebase", "v1.0.0").json["hunks"] == older, "older releases rebase as before"
    assert case.run("rebase", "v1.2.0").exit == 0
    assert not file.exists(), "the worktree is done"


def test_remembered_on_another_machine(case, tmp_path):
    file = opened(case)
    settle(file, "check(x + 1)", "check(x + 5)")
    before = {p: p.read_bytes() for p in (case.project / "patchset").rglob("*") if p.is_file()}
    case.ok("resolve", "p/one", "--continue", "--tag", "v1.1.0")
    resolutions = case.project / "upstream-map/resolutions"
    other = tmp_path / "other" / "project"
    for path, data in before.items():
        target = other / path.relative_to(case.project)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    shutil.copytree(resolutions, other / "upstream-map/resolutions")
    case.project, case.env["REBASEKIT_CACHE"] = other, str(tmp_path / "other" / "cache")
    for tag in ("v1.1.0", "v1.2.0"):
        result = case.run("rebase", tag)
        assert result.hunk("p/one")["placement"] == "shifted"
        assert next(resolutions.glob("*.toml")).stem in str(result.hunk("p/one")), "never silently"
        assert b"y = check(x + 5)" in case.exported(tag)["pkg/a.py"]
    case.ok("accept", "p/one", "--tag", "v1.1.0", "--why", "as remembered")
    result = case.run("rebase", "v1.1.0")
    assert result.exit == 0 and result.hunk("p/one")["placement"] == "carried"
    assert case.run("rebase", "v1.0.0").hunk("p/one")["placement"] == "carried"


def test_inside_the_worktree(case):
    file = opened(case)
    settle(file, "check(x + 1)", "check(x + 5)")
    assert "rebasekit resolve" in case.refused("refresh", inside=file.parent)
    case.ok("resolve", "--continue", inside=file.parent)
    assert case.run("rebase", "v1.1.0").exit == 0


def test_markers_left(case):
    file = opened(case)
    message = case.refused("resolve", "p/one", "--continue")
    assert "still has conflict markers" in message or "nothing was changed" in message
    file.write_text(file.read_text().replace("check(x + 1)", "check(x + 5)"))
    assert "`pkg/a.py` still has conflict markers, the first at line 2" in case.refused(
        "resolve", "p/one", "--continue"
    )
    text = re.sub(r"(?m)^(<<<<<<<|\|\|\|\|\|\|\||>>>>>>>).*\n", "", file.read_text())
    file.write_text(text)
    assert "markers" in case.refused("resolve", "p/one", "--continue")


def test_lines_of_upstream_that_look_like_markers(flow):
    docs = '"""\nTitle\n=======\n"""\n'
    case = project(flow, docs + A[1:], docs + NEW[1:])
    assert case.run("rebase", "v1.1.0").exit == 3
    file = opened(case)
    text = file.read_text()
    at = text.index("<<<<<<<")
    file.write_text(
        text[:at]
        + re.sub(r"(?ms)^<<<<<<<.*?^=======\n(.*?)^>>>>>>>[^\n]*\n", r"\1", text[at:]).replace("x + 1", "x + 5")
    )
    case.ok("resolve", "p/one", "--continue")
    assert case.run("rebase", "v1.1.0").exit == 0


def test_nothing_changed(case):
    file = opened(case)
    file.write_bytes(case.pristine("v1.1.0")["pkg/a.py"].replace(b"return z", b"z *= 3\n    return z"))
    message = case.refused("resolve", "p/one", "--continue")
    assert "nothing was changed" in message and "--drop" in message


def test_drop(case):
    opened(case)
    assert "needs a reason" in case.refused("resolve", "p/one", "--drop")
    assert (
        case.ok("resolve", "p/one", "--drop", "--why", "upstream checks it now")
        == "p/one is not meant for v1.1.0 and later\n"
    )
    assert case.run("rebase", "v1.1.0").placements == {"p/one": "not-meant", "p/two": "carried"}
    assert case.run("rebase", "v1.0.0").placements == {"p/one": "carried", "p/two": "carried"}
    assert "is not meant for" in case.refused("resolve", "p/one", "--drop", "--why", "x", "--tag", "v1.1.0")


def test_several_places_become_one_edit(case):
    file = opened(case)
    settle(file, "check(x + 1)", "check(x + 5)")
    file.write_text(file.read_text().replace("    return y\n", "    return y * 2\n"))
    assert ": edit in one" in case.ok("resolve", "p/one", "--continue")
    assert case.run("rebase", "v1.1.0").exit == 0
    assert b"return y * 2" in case.exported("v1.1.0")["pkg/a.py"]
    assert (case.project / "patchset/p/one_v1_1_0.edit").exists()


def test_several_files(case):
    file = opened(case)
    settle(file, "check(x + 1)", "check(x + 5)")
    file.with_name("__init__.py").write_text("X = 1\n")
    message = case.refused("resolve", "p/one", "--continue")
    assert "2 files were changed" in message and "`pkg/__init__.py`" in message
    file.with_name("__init__.py").write_text("")
    file.with_name("new.py").write_text("")
    file.write_bytes(case.pristine("v1.1.0")["pkg/a.py"].replace(b"return z", b"z *= 3\n    return z"))
    assert "`pkg/new.py` was added" in case.refused("resolve", "p/one", "--continue")


def test_a_slip_of_the_editor(case):
    file = opened(case)
    settle(file, "check(x + 1)", "check((x + 5)")
    assert "cannot be read as Python" in case.refused("resolve", "p/one", "--continue")


def test_abort(case):
    file = opened(case)
    before = case.snapshot()
    assert case.cmd("resolve", "p/one", "--abort").exit == 0
    assert case.snapshot() == before and not file.exists()
    assert "no open worktree" in case.refused("resolve", "p/one", "--abort")
    assert "no open worktree" in case.refused("resolve", "p/one", "--continue")


def test_nothing_to_resolve(case):
    assert "is carried on v1.1.0: there is nothing to resolve" in case.refused("resolve", "p/two", "--tag", "v1.1.0")
    assert "name the hunk" in case.refused("resolve")
    assert "is no worktree" in case.refused("resolve", "--continue")
    assert "no hunk `x`" in case.refused("resolve", "x")


def test_open_again_keeps_the_work(case):
    file = opened(case)
    settle(file, "check(x + 1)", "check(x + 5)")
    text = file.read_text()
    assert opened(case) == file and file.read_text() == text


def test_the_scope_is_gone(flow):
    gone = "def other(x):\n    return x\n\n\n" + A[A.index("def two") :]
    case = project(flow, A, gone)
    assert case.run("rebase", "v1.1.0").placements["p/one"] == "missing"
    result = case.cmd("resolve", "p/one", "--tag", "v1.1.0")
    assert result.exit == 0 and "both sides lie in" in result.stderr
    file = Path(result.stdout.strip())
    assert "y = x + 5" in (file.parents[1] / ".git/rebasekit/ours").read_text()
    file.write_text(file.read_text().replace("return x\n", "return x + 5\n"))
    case.ok("resolve", "p/one", "--continue")
    assert case.run("rebase", "v1.1.0").exit == 0
    assert b"return x + 5" in case.exported("v1.1.0")["pkg/a.py"]


def test_the_file_was_renamed(flow):
    case = project(flow, A, {"pkg/b.py": NEW})
    assert case.run("rebase", "v1.1.0").exit == 3
    case.ok("resolve", "p/one", "--tag", "v1.1.0")
    folder = Path(case.ok("resolve", "p/one", "--tag", "v1.1.0").strip())
    folder = folder if folder.is_dir() else folder.parents[1]
    file = folder / "pkg/b.py"
    settle(file, "check(x + 1)", "check(x + 5)")
    case.ok("resolve", "p/one", "--continue")
    assert 'file = "pkg/b.py"' in case.flat()
    assert case.run("rebase", "v1.1.0").placements["p/one"] == "carried"
    assert b"check(x + 5)" in case.exported("v1.1.0")["pkg/b.py"]
    assert case.run("rebase", "v1.0.0").exit == 0


def test_the_whole_file_is_gone(flow):
    case = project(flow, A, {"pkg/c.py": "C = 1\n"}, hunks=(ONE,))
    assert case.run("rebase", "v1.1.0").exit == 3
    folder = opened(case)
    assert folder.is_dir()
    (folder / "pkg/c.py").write_text("C = 5\n")
    case.ok("resolve", "p/one", "--continue")
    assert case.exported("v1.1.0")["pkg/c.py"] == b"C = 5\n"
    assert case.run("rebase", "v1.1.0").exit == 0


def test_files_that_are_not_python(flow):
    text = {"pkg/n.txt": "a\nb\nc\n"}
    hunk = 'id = "one"\nfile = "pkg/n.txt"\nplace = "text"\nlines = "@@ 2,1 @@\\n+B\\n"'
    case = project(flow, text, {"pkg/n.txt": "a\nbb\nc\n"}, hunks=(hunk,))
    assert case.run("rebase", "v1.1.0").exit == 3
    file = opened(case)
    assert "<<<<<<<" in file.read_text()
    file.write_text("a\nBB\nc\n")
    assert "needs a reason" in case.refused("resolve", "p/one", "--continue")
    case.ok("resolve", "p/one", "--continue", "--why", "both")
    assert case.run("rebase", "v1.1.0").exit == 0
    assert case.exported("v1.1.0")["pkg/n.txt"] == b"a\nBB\nc\n"


def test_crlf(flow):
    crlf = [{"pkg/a.py": text[1:].encode().replace(b"\n", b"\r\n")} for text in (A, NEW)]
    case = project(flow, *crlf)
    assert case.run("rebase", "v1.1.0").exit == 3
    file = opened(case)
    assert b"<<<<<<<" in file.read_bytes()
    data = re.sub(rb"(?ms)^<<<<<<<.*?^=======\r\n(.*?)^>>>>>>>[^\n]*\n", rb"\1", file.read_bytes())
    file.write_bytes(data.replace(b"x + 1", b"x + 5"))
    case.ok("resolve", "p/one", "--continue")
    assert case.exported("v1.1.0")["pkg/a.py"].count(b"\r\n") == case.exported("v1.1.0")["pkg/a.py"].count(b"\n")
    assert case.run("rebase", "v1.1.0").exit == 0


def test_a_second_conflict_later(flow):
    later = NEW.replace("check(x + 1)", "check(add(x, 1))")
    case = project(flow, A, NEW, later)
    for tag, old, new in (("v1.1.0", "check(x + 1)", "check(x + 5)"), ("v1.2.0", "add(x, 1)", "add(x, 5)")):
        assert case.run("rebase", tag).exit == 3
        settle(opened(case, tag=tag), old, new)
        case.ok("resolve", "p/one", "--continue")
    assert [case.run("rebase", tag).exit for tag in ("v1.0.0", "v1.1.0", "v1.2.0")] == [0, 0, 0]
    assert 'tags = ">=v1.1.0,<v1.2.0"' in case.flat()


def test_resolved_backwards(flow):
    later = NEW.replace("check(x + 1)", "check(add(x, 1))")
    case = project(flow, A, NEW, later)
    for tag, old, new in (("v1.2.0", "add(x, 1)", "add(x, 5)"), ("v1.1.0", "check(x + 1)", "check(x + 5)")):
        assert case.run("rebase", tag).exit == 3
        settle(opened(case, tag=tag), old, new)
        case.ok("resolve", "p/one", "--continue", "--tag", tag)
    assert [case.run("rebase", tag).exit for tag in ("v1.0.0", "v1.1.0", "v1.2.0")] == [0, 0, 0]


def test_as_processes(case: Case):
    done = case.spawn("resolve", "p/one", "--tag", "v1.1.0")
    assert done.exit == 0
    settle(Path(done.stdout.strip()), "check(x + 1)", "check(x + 5)")
    assert case.spawn("resolve", "p/one", "--continue").exit == 0
    assert case.spawn("rebase", "v1.1.0").exit == 0


def test_a_renamed_file_of_a_lost_anchor_is_marked(flow):
    """The file went elsewhere and the anchor went too: the worktree still shows both sides in the right file."""
    body = "def f(x):\n    y = x\n    z = y\n    return z\n" + "".join(f"A{n} = {n}\n" for n in range(20))
    new = body.replace("    y = x\n    z = y\n", "    z = x * 2\n")
    case = flow(
        {"v1.0.0": {"pkg/a.py": body}, "v1.1.0": {"pkg/b.py": new}},
        {
            "series.toml": series("v1.0.0", patches=["p"]),
            "p/patch.toml": patch_toml(
                'id = "h"\nfile = "pkg/a.py"\nscope = "f"\nplace = "after"\nat = "y = ..."\nlines = "y += 1"'
            ),
        },
    )
    report = case.run("rebase", "v1.1.0")
    assert report.placements == {"p/h": "missing"}
    assert report.hunk("p/h")["file"] == "pkg/b.py"
    result = case.cmd("resolve", "p/h", "--tag", "v1.1.0")
    file = Path(result.stdout.strip())
    assert file.name == "b.py" and "<<<<<<< the hunk" in file.read_text()
    assert "--continue --why '…'`" in result.stderr
    file.write_text(new.replace("    z = x * 2\n", "    z = (x + 1) * 2\n"))
    case.ok("resolve", "p/h", "--continue", "--why", "w")
    assert case.exported("v1.1.0")["pkg/b.py"].decode() == new.replace("z = x * 2", "z = (x + 1) * 2")


def test_a_scope_that_is_gone_is_looked_for_by_what_stood_around(flow):
    old = """class C:
    def prepare(self, x):
        width = self.hidden * self.count
        x = self.pad(x, width)
        if self.embedding is not None:
            x = x + self.embedding(x)
        return self.mix(x)

    def prepared(self, x):
        return x
"""
    new = """class C:
    def widen(self, x):
        width = self.hidden * self.count
        return self.pad(x, width)

    def embed(self, x, other, third):
        assert other
        if self.embedding is not None:
            x = x + self.embedding(x)
        return x, third

    def prepared(self, x):
        return x
"""
    case = flow(
        {"v1.0.0": {"pkg/a.py": old}, "v1.1.0": {"pkg/a.py": new}},
        {
            "series.toml": series("v1.0.0", patches=["p"]),
            "p/patch.toml": patch_toml(
                'id = "h"\nfile = "pkg/a.py"\nscope = "C.prepare"\nplace = "last"\n'
                'at = "if self.embedding is not None: ..."\nlines = "x *= 2"'
            ),
        },
    )
    hunk = case.run("rebase", "v1.1.0").hunk("p/h")
    assert hunk["placement"] == "missing"
    assert (hunk["candidates"][0]["scope"], hunk["candidates"][0]["line"]) == ("C.embed", 8)
