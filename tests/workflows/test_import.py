"""`import`: every kind of diff gives the same tree back, and what cannot be carried is refused by name."""

from __future__ import annotations

import subprocess

import pytest

A = """
import os


def one(x):
    y = x + 1
    return y


class Two:
    limit = 3

    def run(self, items):
        for item in items:
            if item:
                self.take(item)
        return len(items)
"""
BASE = {
    "pkg/a.py": A,
    "pkg/b.py": "B = 1\n",
    "pkg/notes.txt": "first\nsecond\nthird\n",
    "pkg/crlf.py": b"def f():\r\n    a = 1\r\n    return a\r\n",
    "pkg/crlf.txt": b"one\r\ntwo\r\nthree\r\n",
    "pkg/noeol.py": b"X = 1\nY = 2",
    "pkg/noeol.cfg": b"[x]\ny = 1",
    "pkg/uni.py": "# ünï\nNAME = 'é'\n\n\ndef f():\n    return NAME\n",
    "pkg/latin.py": "# -*- coding: latin-1 -*-\nNAME = 'é'\nOTHER = 1\n".encode("latin-1"),
    "pkg/bom.py": b"\xef\xbb\xbfZ = 1\n",
    "pkg/run.sh": "#!/bin/sh\necho hi\n",
    "pkg/data.bin": b"\x00\x01\x02\xff",
    "pkg/broken.py": "def f(:\n    pass\n",
    "pkg/empty.py": "",
}
PLAIN = {path: data.encode() if isinstance(data, str) else data for path, data in BASE.items()}
PLAIN["pkg/a.py"] = PLAIN["pkg/a.py"][1:]


def changed(path: str, old: str, new: str) -> dict[str, bytes]:
    assert old.encode() in PLAIN[path]
    return {**PLAIN, path: PLAIN[path].replace(old.encode(), new.encode())}


def without(*paths: str) -> dict[str, bytes]:
    return {path: data for path, data in PLAIN.items() if path not in paths}


CASES = {
    "statement": changed("pkg/a.py", "    return y\n", "    y *= 2\n    return y\n"),
    "replace": changed("pkg/a.py", "y = x + 1", "y = x + 2"),
    "delete": changed("pkg/a.py", "    limit = 3\n\n", ""),
    "parameter": changed("pkg/a.py", "def one(x):", "def one(x, z=None):"),
    "base": changed("pkg/a.py", "class Two:", "class Two(dict):"),
    "import": changed("pkg/a.py", "import os\n", "import os\nimport sys\n"),
    "deep": changed(
        "pkg/a.py", "                self.take(item)\n", "                self.take(item)\n                break\n"
    ),
    "comment": changed("pkg/a.py", "    y = x + 1\n", "    # why\n    y = x + 1  # here\n"),
    "whitespace only": changed("pkg/a.py", "limit = 3", "limit  =  3"),
    "append": {**PLAIN, "pkg/a.py": PLAIN["pkg/a.py"] + b"\n\ndef three():\n    pass\n"},
    "emptied": {**PLAIN, "pkg/b.py": b""},
    "emptied text": {**PLAIN, "pkg/notes.txt": b""},
    "filled": {**PLAIN, "pkg/empty.py": b"A = 1\n"},
    "text": changed("pkg/notes.txt", "second", "2nd"),
    "crlf python": changed("pkg/crlf.py", "    a = 1\r\n", "    a = 1\r\n    a += 1\r\n"),
    "crlf text": changed("pkg/crlf.txt", "two\r\n", "2\r\n2b\r\n"),
    "crlf becomes lf": {**PLAIN, "pkg/crlf.py": PLAIN["pkg/crlf.py"].replace(b"\r\n", b"\n")},
    "one lf line in crlf": changed("pkg/crlf.py", "    a = 1\r\n", "    a = 2\n"),
    "crlf line in lf": changed("pkg/b.py", "B = 1\n", "B = 1\r\nC = 2\r\n"),
    "no final newline, python": changed("pkg/noeol.py", "X = 1", "X = 3"),
    "no final newline, last line": changed("pkg/noeol.py", "Y = 2", "Y = 3"),
    "final newline added": changed("pkg/noeol.py", "Y = 2", "Y = 2\n"),
    "final newline removed": {**PLAIN, "pkg/b.py": b"B = 1"},
    "appended without newline": changed("pkg/noeol.py", "Y = 2", "Y = 2\nZ = 3"),
    "no final newline, text": changed("pkg/noeol.cfg", "y = 1", "y = 2"),
    "non-ascii": changed("pkg/uni.py", "    return NAME\n", "    return NAME + 'ß→'\n"),
    "latin-1": {**PLAIN, "pkg/latin.py": PLAIN["pkg/latin.py"].replace(b"OTHER = 1", b"OTHER = 2")},
    "byte order mark": changed("pkg/bom.py", "Z = 1", "Z = 2"),
    "mark removed": {**PLAIN, "pkg/bom.py": b"Z = 1\n"},
    "unparsable": changed("pkg/broken.py", "pass", "return"),
    "becomes unparsable": changed("pkg/b.py", "B = 1", "B = (1"),
    "new": {**PLAIN, "pkg/new.py": b"N = 1\n", "pkg/deep/er/x.py": b"N = 2\n"},
    "new empty": {**PLAIN, "pkg/new/__init__.py": b""},
    "new crlf": {**PLAIN, "pkg/new.bat": b"echo\r\n"},
    "new mixed": {**PLAIN, "pkg/new.txt": b"a\r\nb\nc\rd"},
    "new with a mark": {**PLAIN, "pkg/new.py": b"\xef\xbb\xbfN = 1\n"},
    "new with odd names": {**PLAIN, "pkg/ä ö.py": b"N = 1\n", "pkg/we'ird (x).txt": b"y\n"},
    "new executable": {**PLAIN, "pkg/go.py": b"#!/usr/bin/env python\nprint(1)\n"},
    "changed executable": changed("pkg/run.sh", "hi", "ho"),
    "deleted": without("pkg/b.py"),
    "deleted text and binary": without("pkg/notes.txt", "pkg/data.bin"),
    "renamed": {**without("pkg/a.py"), "pkg/c.py": PLAIN["pkg/a.py"].replace(b"x + 1", b"x + 5")},
    "blank line": changed("pkg/a.py", "    y = x + 1\n", "    y = x + 1\n\n"),
    "blank line and more": {
        **PLAIN,
        "pkg/a.py": PLAIN["pkg/a.py"].replace(b"    y = x + 1\n", b"    y = x + 1\n\n").replace(b"= 3", b"= 4"),
    },
    "blank line gone": changed("pkg/a.py", "import os\n\n\n", "import os\n\n"),
    "form feed": changed("pkg/a.py", "\n\nclass Two", "\n\x0c\nclass Two"),
    "everything": {
        **without("pkg/b.py"),
        "pkg/a.py": PLAIN["pkg/a.py"].replace(b"import os\n", b"import os\nimport re\n").replace(b"= 3", b"= 4")
        + b"\n\nE = 1\n",
        "pkg/new.py": b"def n():\n    '''doc\n  odd'''\n",
        "pkg/notes.txt": b"zeroth\nfirst\nthird\nfourth\n",
    },
}


@pytest.mark.parametrize("name", CASES)
def test_import_then_export_gives_the_same_tree(flow, diff, name):
    case, wanted = flow(BASE), CASES[name]
    result = case.import_(diff(PLAIN, wanted), "--why", "w", "--removal", "r")
    assert result.exit == 0, result.stderr
    assert result.stdout.startswith("imported `p` with ")
    assert case.exported() == wanted
    rebased = case.run("rebase", "v1.0.0")
    assert set(rebased.placements.values()) == {"carried"}
    # a file of ours counts as a whole, and this one calls what nobody defines
    assert rebased.exit == (1 if "unparsable" in name or name == "renamed" else 0)
    upstream = case.toml()
    assert "limit = 3" not in upstream and "first" not in upstream, "only our lines"


def test_modes(flow, diff):
    case = flow(BASE)
    assert case.import_(diff(PLAIN, {**PLAIN, "pkg/go": b"#!/bin/sh\n"})).exit == 0
    assert 'mode  = "executable"' in case.toml() or 'mode = "executable"' in case.toml()
    assert "new file mode 100755" in case.ok("export", "--tag", "v1.0.0", "--diff")
    assert "mode" not in case.import_(diff(PLAIN, changed("pkg/run.sh", "hi", "ho")), name="q").stderr
    assert "100755" in case.ok("export", "--tag", "v1.0.0", "--only", "q", "--diff")


def test_unified_diff_and_quilt(flow, diff):
    wanted = changed("pkg/a.py", "y = x + 1", "y = x + 2")
    git = diff(PLAIN, wanted, "--no-prefix").decode()
    p0 = git[git.index("--- ") :]
    case = flow(BASE)
    for number, text in enumerate((
        p0,
        p0.replace("--- pkg", "--- old-1.0/pkg").replace("+++ pkg", "+++ new-1.0/pkg"),
        p0.replace("--- pkg/a.py", "--- a/pkg/a.py\t2024-01-01 10:00:00").replace("+++ pkg", "+++ b/pkg"),
        "Index: pkg/a.py\n" + "=" * 67 + "\n" + p0,
        p0.replace("--- pkg", "--- a/python/pkg").replace("+++ pkg", "+++ b/python/pkg"),
        "some text\n\n" + p0,
    )):  # fmt: skip
        assert case.import_(text, name=f"n{number}").exit == 0
        assert case.exported("v1.0.0", "--only", f"n{number}") == wanted
        case.write(
            {"patchset/series.toml": (case.project / "patchset/series.toml").read_text().replace(f'"n{number}"', "")}
        )
        subprocess.run(["rm", "-r", case.project / "patchset" / f"n{number}"], check=True)


def test_new_file_below_a_prefix(flow, diff):
    case = flow(BASE)
    text = diff({}, {"python/pkg/new.py": "A = 1\n", "python/pkg/empty2.py": ""})
    assert case.import_(text).exit == 0
    assert case.exported() == {**PLAIN, "pkg/new.py": b"A = 1\n", "pkg/empty2.py": b""}


def test_files_outside_the_package(flow, diff):
    case = flow(BASE)
    old = {"python/pkg/b.py": "B = 1\n", "docs/x.md": "x\n"}
    text = diff(old, {"python/pkg/b.py": "B = 2\n", "docs/x.md": "y\n", "test/t.py": "T = 1\n"})
    (case.root / "pr.diff").write_bytes(text)
    argv = ("import", str(case.root / "pr.diff"), "--onto", "v1.0.0", "--as", "p")
    message = case.refused(*argv)
    assert "`docs/x.md`" in message and "--exclude 'docs/*'" in message
    case.ok(*argv, "--exclude", "docs/*", "--exclude", "test/*")
    assert case.exported() == {**PLAIN, "pkg/b.py": b"B = 2\n"}


def test_a_mail_gives_title_and_why(flow, diff, tmp_path):
    case, wanted = flow(BASE), changed("pkg/uni.py", "'é'", "'è'")
    (tmp_path / "message").write_text(
        "Größe: a subject that is so long that a mail has to fold it\n\nIt was not counted.\n\n- über\n"
    )
    mail = diff(PLAIN, wanted, "format-patch")
    assert case.import_(mail, "--removal", "never").exit == 0
    patch = case.project / "patchset/p/patch.toml"
    assert "Größe: a subject that is so long that a mail has to fold it" in patch.read_text()
    assert "It was not counted.\n\n- über" in patch.read_text()
    assert case.exported() == wanted


def test_dep3_header(flow, diff):
    case = flow(BASE)
    head = b"""Description: count the pool
 It was not counted.
 .
 Now it is.
Origin: https://example.invalid/pull/1
Forwarded: not-needed
Author: A B <a@example.invalid>

"""
    assert case.import_(head + diff(PLAIN, changed("pkg/b.py", "1", "2"))).exit == 0
    text = case.toml()
    assert 'title     = "count the pool"' in text and "It was not counted.\n\nNow it is." in text
    assert 'origin    = "https://example.invalid/pull/1"' in text and 'forwarded = "not-needed"' in text


def test_our_own_export_comes_back_whole(flow, diff):
    case = flow(BASE)
    wanted = changed("pkg/b.py", "1", "2")
    assert (
        case.import_(diff(PLAIN, wanted), "--title", "Ünique", "--why", "so\n\nand so", "--removal", "with PR 5").exit
        == 0
    )
    case.ok("export", "--tag", "v1.0.0", "--to", "out")
    before = case.toml()
    subprocess.run(["rm", "-r", case.project / "patchset/p"], check=True)
    series = (case.project / "patchset/series.toml").read_text().replace('"p"', "")
    case.write({"patchset/series.toml": series})
    case.ok("import", "out/0001-nique.patch", "--onto", "v1.0.0", "--as", "p")
    assert case.toml() == before


def test_branch_of_a_repository(flow):
    case = flow(BASE)
    fork = case.checkout("v1.0.0")
    (fork / "pkg/b.py").write_text("B = 7\n")
    env = case.env
    subprocess.run(["git", "checkout", "-q", "-b", "topic/x"], cwd=fork, env=env, check=True)
    subprocess.run(["git", "commit", "-q", "-a", "-m", "x"], cwd=fork, env=env, check=True)
    case.ok("import", f"{fork}#topic/x", "--onto", "v1.0.0", "--as", "p")
    assert case.exported() == {**PLAIN, "pkg/b.py": b"B = 7\n"}
    assert "no diff" in case.refused("import", f"{fork}#nope", "--onto", "v1.0.0", "--as", "q")
    assert "not a revision" in case.refused("import", f"{fork}#--output=x", "--onto", "v1.0.0", "--as", "q")
    assert "is not a folder" in case.refused("import", "https://example.invalid/x#y", "--onto", "v1.0.0", "--as", "q")


def test_standard_input(flow, diff, monkeypatch):
    import io
    import sys

    case = flow(BASE)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(diff(PLAIN, changed("pkg/b.py", "1", "2")))))
    case.ok("import", "-", "--onto", "v1.0.0", "--as", "p")
    assert case.exported() == {**PLAIN, "pkg/b.py": b"B = 2\n"}


SHIFTED = """
--- a/pkg/a.py
+++ b/pkg/a.py
@@ -8,3 +8,3 @@
 def one(x):
-    y = x + 1
+    y = x + 2
     return y
"""
LINK = """
diff --git a/pkg/l b/pkg/l
new file mode 120000
index 0000000..1a2b3c4
--- /dev/null
+++ b/pkg/l
@@ -0,0 +1 @@
+/etc/passwd
\\ No newline at end of file
"""
NEW = "--- /dev/null\n+++ b/{}\n@@ -0,0 +1 @@\n+x\n"
REFUSED = {
    "empty": (b"", "it is empty"),
    "blank": (b"\n\n", "it is empty"),
    "no diff": (b"hello\nworld\n", "there is no diff"),
    "offset": (SHIFTED[1:], "hunk 1 of `pkg/a.py` fits only at line 4"),
    "does not apply": (SHIFTED[1:].replace("x + 1", "x + 9"), "`pkg/a.py`"),
    "missing file": (SHIFTED[1:].replace("pkg/a.py", "pkg/zz.py"), "the release has no `pkg/zz.py`"),
    "damaged": (SHIFTED[1:].replace("     return y\n", ""), "damaged"),
    "link": (LINK[1:], "`pkg/l`"),
    "up and out": (NEW.format("../../etc/x"), "etc/x"),
    "absolute": (NEW.format("/etc/x"), "etc/x"),
    "git's own": (NEW.format("pkg/.git/config"), ".git"),
    "git's own in other letters": (NEW.format("pkg/.GIT/config"), ".GIT"),
    "backslash": (NEW.format("pkg\\\\x.py"), "pkg"),
    "exists": (NEW.format("pkg/b.py"), "the release has a file `pkg/b.py` already"),
    "binary without data": (
        "diff --git a/pkg/data.bin b/pkg/data.bin\nindex 1111111..2222222 100644\n"
        "Binary files a/pkg/data.bin and b/pkg/data.bin differ\n",
        "`pkg/data.bin` is binary",
    ),
    "mode only": ("diff --git a/pkg/b.py b/pkg/b.py\nold mode 100644\nnew mode 100755\n", "the mode of `pkg/b.py`"),
    "nothing": ("--- a/pkg/b.py\n+++ b/pkg/b.py\n@@ -1 +1 @@\n-B = 1\n+B = 1\n", "changes nothing"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_by_name(flow, name):
    text, words = REFUSED[name]
    case = flow(BASE)
    (case.root / "in.diff").write_bytes(text if isinstance(text, bytes) else text.encode())
    assert words in case.refused("import", str(case.root / "in.diff"), "--onto", "v1.0.0", "--as", "p")


def test_binary_files_are_refused_by_name(flow, diff):
    case = flow(BASE)
    for new in (
        {**PLAIN, "pkg/data.bin": b"\x00\x02"},
        {**PLAIN, "pkg/x.bin": b"\xff\xfe"},
        {**PLAIN, "pkg/x.txt": b"a\0b"},
    ):
        (case.root / "in.diff").write_bytes(diff(PLAIN, new))
        message = case.refused("import", str(case.root / "in.diff"), "--onto", "v1.0.0", "--as", "p")
        assert "`pkg/data.bin`" in message or "`pkg/x." in message


def test_converted_line_ends(flow, diff):
    case = flow(BASE)
    text = diff(PLAIN, changed("pkg/a.py", "x + 1", "x + 2")).replace(b"\n", b"\r\n")
    (case.root / "in.diff").write_bytes(text)
    message = case.refused("import", str(case.root / "in.diff"), "--onto", "v1.0.0", "--as", "p")
    assert "line ends" in message


def test_already_there(flow, diff):
    case = flow(BASE)
    (case.root / "in.diff").write_bytes(diff(changed("pkg/a.py", "x + 1", "x + 2"), PLAIN))
    assert "already" in case.refused("import", str(case.root / "in.diff"), "--onto", "v1.0.0", "--as", "p")


def test_names(flow, diff):
    case = flow(BASE)
    text = diff(PLAIN, changed("pkg/b.py", "1", "2"))
    assert case.import_(text).exit == 0
    assert "there is a patch `p` already" in case.refused(
        "import", str(case.root / "in.diff"), "--onto", "v1.0.0", "--as", "p"
    )
    for bad in ("../x", "A", "", "a b", ".x"):
        case.refused("import", str(case.root / "in.diff"), "--onto", "v1.0.0", f"--as={bad}")
    assert "no file `nope`" in case.refused("import", "nope", "--onto", "v1.0.0", "--as", "q")
    case.refused("import", str(case.root / "in.diff"), "--onto", "v9.0.0", "--as", "q")


def test_what_the_series_changes_already(flow, diff):
    case = flow(BASE)
    assert case.import_(diff(PLAIN, changed("pkg/b.py", "1", "2"))).exit == 0
    (case.root / "in.diff").write_bytes(diff(PLAIN, changed("pkg/b.py", "1", "3")))
    message = case.refused("import", str(case.root / "in.diff"), "--onto", "v1.0.0", "--as", "q")
    assert "`pkg/b.py`" in message and "`p/" in message and "rebasekit edit q --new" in message


def test_a_rename_is_said_to_bring_upstreams_text(flow, diff):
    result = flow(BASE).import_(diff(PLAIN, CASES["renamed"]))
    assert result.exit == 0
    assert "`pkg/c.py` is `pkg/a.py` under another name" in result.stderr
