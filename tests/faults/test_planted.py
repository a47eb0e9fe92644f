"""Upstream's code is data: nothing of it is imported or run, whatever it is called and wherever it lies."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from harness import Case, patch_toml, series

A = "def one(x):\n    y = x + 1\n    return y\n"
ONE = 'id = "one"\nfile = "pkg/a.py"\nscope = "one"\nplace = "after"\nat = "y = x + 1"\nlines = "y = helper(y)"'
IMPORT = 'id = "import"\nfile = "pkg/a.py"\nplace = "import"\nlines = "from pkg.util import helper"'
NAMES = (  # modules that a reader of a tree could import by mistake, and files that tools run by themselves
    "pkg/__init__.py", "pkg/util.py", "conftest.py", "setup.py", "sitecustomize.py", "usercustomize.py", "git.py",
    "rich.py", "tomlkit.py", "packaging.py", "pyflakes/__init__.py", "filelock.py", "ast.py", "json.py", "typing.py",
    "rebasekit/__init__.py", "noxfile.py", "__main__.py",
)  # fmt: skip


def planted(sentinel: Path) -> dict[str, str]:
    """A tree in which every file tells when it runs."""
    tell = f"import pathlib as _p\n_p.Path({str(sentinel)!r}).open('a').write(__name__ + ' ' + __file__)\n"
    files = dict.fromkeys(NAMES, f"{tell}def helper(y):\n    return y\n")
    files["pkg/a.py"] = tell + A
    files["pyproject.toml"] = f'[tool.pytest.ini_options]\naddopts = "-p {sentinel}"\n'
    files[".gitattributes"] = "*.py filter=planted diff=planted merge=planted\n"
    files[".gitmodules"] = f'[submodule "x"]\n\tpath = x\n\turl = ext::sh -c "touch% {sentinel}"\n'
    files["hooks/post-checkout"] = f"#!/bin/sh\ntouch {sentinel}\n"
    files["planted.pth"] = f"import pathlib; pathlib.Path({str(sentinel)!r}).touch()\n"
    return files


def test_nothing_of_upstream_runs(tmp_path: Path) -> None:
    sentinel = tmp_path / "it-ran"
    old = planted(sentinel)
    new = old | {"pkg/a.py": old["pkg/a.py"].replace("return y", "return  y"), "pkg/new.py": old["pkg/util.py"]}
    conflict = new | {"pkg/a.py": new["pkg/a.py"].replace("y = x + 1", "y = add(x, 1)")}
    case = Case(
        tmp_path / "case",
        {"v1.0.0": old, "v1.1.0": new, "v1.2.0": conflict},
        {"series.toml": series("v1.0.0", patches=["p"]), "p/patch.toml": patch_toml(IMPORT, ONE)},
    )
    # settings of the upstream repository that git would obey if it ran there
    config = case.repository / ".git/config"
    config.write_text(
        config.read_text()
        + f'[core]\n\tfsmonitor = "touch {sentinel}"\n\thooksPath = {tmp_path}/hooks\n'
        + f'[filter "planted"]\n\tsmudge = touch {sentinel}\n\tclean = touch {sentinel}\n\trequired = true\n'
        + f'[diff "planted"]\n\tcommand = touch {sentinel}\n\ttextconv = touch {sentinel}\n'
    )
    for hook in ("post-checkout", "pre-commit", "post-commit", "reference-transaction", "post-merge"):
        path = case.repository / ".git/hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\ntouch {sentinel}\n")
        path.chmod(0o755)
    (case.project / "in.diff").write_text(
        "--- a/pkg/util.py\n+++ b/pkg/util.py\n@@ -3,2 +3,3 @@\n def helper(y):\n+    y += 1\n     return y\n"
    )
    target = tmp_path / "target"
    for path, data in case.pristine("v1.0.0").items():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_bytes(data)

    def run(*argv: str, inside: Path = case.project, ok: tuple[int, ...] = (0,)) -> str:
        """As a program that is installed is run: with the tree as the working folder, which is not on the path."""
        command = [str(Path(sys.executable).parent / "rebasekit"), *argv]
        done = subprocess.run(command, cwd=inside, env=case.env, capture_output=True, text=True, check=False)
        assert done.returncode in ok, (argv, done.returncode, done.stderr)
        assert not sentinel.exists(), (argv, sentinel.read_text())
        return done.stdout

    any_ = (0, 1, 3)
    run("rebase", "v1.0.0", ok=any_)
    run("rebase", "v1.1.0", ok=any_)
    run("rebase", "v1.2.0", ok=any_)
    run("import", "in.diff", "--onto", "v1.0.0", "--as", "q")
    for argv in (("reach", "pkg.util.helper"), ("survive",), ("unbound",), ("defaults",)):
        run(*argv, "--tag", "v1.1.0", ok=any_)
    run("churn", "v1.0.0", "v1.1.0")
    run("show", "p/one")
    run("list")
    run("doctor", ok=(0, 1, 4))
    run("export", "--tag", "v1.1.0", "--to", str(tmp_path / "out"))
    run("export", "--tag", "v1.1.0", "--diff")
    run("apply", "--tag", "v1.0.0", "--to", str(target))
    run("apply", "--tag", "v1.0.0", "--to", str(target), "-R")
    folder = Path(run("edit", "p").strip())
    text = (folder / "pkg/a.py").read_text()
    (folder / "pkg/a.py").write_text(text.replace("y = helper(y)", "y = helper(y + 1)"))
    run("refresh", inside=folder)
    opened = Path(run("resolve", "p/one", "--tag", "v1.2.0").strip())
    opened = opened if opened.is_dir() else opened.parents[1]
    run("resolve", "p/one", "--abort", "--tag", "v1.2.0")
    run("accept", "p/one", "--tag", "v1.1.0", "--why", "looked")
    run("rename", "q", "r")
    run("delete", "r")


def test_the_sentinel_would_tell(tmp_path: Path) -> None:
    """Importing one of the planted files leaves the trace that the test above looks for."""
    sentinel = tmp_path / "it-ran"
    for path, text in planted(sentinel).items():
        (tmp_path / "tree" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / path).write_text(text)
    subprocess.run([sys.executable, "-c", "import pkg.util"], cwd=tmp_path / "tree", env=dict(os.environ), check=True)
    assert "pkg.util" in sentinel.read_text()
