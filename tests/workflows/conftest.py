"""A project whose patches are made, changed and taken out by commands, and trees to compare the results with."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from harness import Case, Result, Tree, as_bytes, read_tree, write_tree

Bytes = dict[str, bytes]
Flow_ = Callable[..., "Flow"]


class Flow(Case):
    """A case with shorthands. Commands run in the project unless `inside` names another folder."""

    def cmd(self, *argv: str, inside: Path | None = None) -> Result:
        if inside is None:
            return self.run(*argv, json=False)
        project, self.project = self.project, inside
        try:
            return self.run(*argv, json=False)
        finally:
            self.project = project

    def ok(self, *argv: str, inside: Path | None = None) -> str:
        result = self.cmd(*argv, inside=inside)
        assert result.exit == 0, result.stdout + result.stderr
        return result.stdout

    def refused(self, *argv: str, inside: Path | None = None) -> str:
        """Run what has to fail without changing the project; return the message."""
        before = self.snapshot()
        result = self.cmd(*argv, inside=inside)
        assert result.exit in (2, 3, 4), (result.exit, result.stdout, result.stderr)
        assert self.snapshot() == before
        assert result.stdout == ""
        # a machine that takes more than two seconds hears of its progress first
        said = [line for line in result.stderr.split("\n") if not line.endswith(" …")]
        assert said[0].startswith("error: ") and not said[0].endswith(".")
        return result.stderr

    def toml(self, patch: str = "p") -> str:
        return (self.project / "patchset" / patch / "patch.toml").read_text()

    def flat(self, patch: str = "p") -> str:
        """The patch without the alignment of its keys."""
        return re.sub(r"(?m)^(\w+) +=", r"\1 =", self.toml(patch))

    def import_(self, diff: bytes | str, *argv: str, name: str = "p", onto: str = "v1.0.0") -> Result:
        (self.root / "in.diff").write_bytes(as_bytes(diff))
        return self.cmd("import", str(self.root / "in.diff"), "--onto", onto, "--as", name, *argv)

    def edit(self, patch: str = "p", *argv: str) -> Path:
        return Path(self.ok("edit", patch, *argv).strip())

    def exported(self, tag: str = "v1.0.0", *argv: str) -> Bytes:
        """Upstream's tree with the exported diff, applied by plain git."""
        result = self.cmd("export", "--tag", tag, "--diff", *argv)
        assert result.exit == 0, result.stderr
        # the harness shows what is no UTF-8 as `\\xe9`, which is what latin-1 files need turned back
        diff = re.sub(rb"\\x([89a-f][0-9a-f])", lambda m: bytes([int(m[1], 16)]), result.stdout.encode())
        folder = self.checkout(tag)
        if diff:
            subprocess.run(["git", "apply", "--whitespace=nowarn"], cwd=folder, input=diff, env=self.env, check=True)
        return tree_of(folder)

    def checkout(self, tag: str) -> Path:
        folder = self.root / "checkout"
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run(
            ["git", "clone", "-q", "-c", "advice.detachedHead=false", "-b", tag, str(self.repository), str(folder)],
            env=self.env,
            check=True,
        )
        return folder

    def unpacked(self, tag: str = "v1.0.0", where: str = "target") -> Path:
        """A folder that holds a release, not a checkout."""
        folder = self.root / where
        write_tree(folder, self.pristine(tag))
        return folder

    def placements(self, tag: str) -> dict[str, str]:
        return self.run("rebase", tag).placements


def tree_of(folder: Path) -> Bytes:
    return {path: as_bytes(data) for path, data in read_tree(folder).items() if not path.startswith(".git/")}


def git_diff(root: Path, old: Mapping[str, str | bytes], new: Mapping[str, str | bytes], *options: str) -> bytes:
    """`git diff` between two trees."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    env = {"PATH": os.environ["PATH"], "HOME": str(root), "GIT_CONFIG_NOSYSTEM": "1"}

    def git(*argv: str) -> bytes:
        who = ["-c", "user.name=A B", "-c", "user.email=a@example.invalid", "-c", "core.autocrlf=false"]
        return subprocess.run(["git", *who, *argv], cwd=root, env=env, check=True, capture_output=True).stdout

    def write(tree: Mapping[str, str | bytes]) -> None:
        write_tree(root, tree)
        for path, data in tree.items():
            (root / path).chmod(0o755 if as_bytes(data).startswith(b"#!") else 0o644)

    git("init", "-q")
    write(old)
    git("add", "-A", "-f")
    git("commit", "-q", "--allow-empty", "-m", "old")
    for path in old:
        (root / path).unlink()
    write(new)
    git("add", "-A", "-f")
    if "format-patch" in options:
        git("commit", "-q", "-F", str(root.parent / "message"))
        return git("format-patch", "--stdout", "-1")
    return git("diff", "--cached", *(options or ("--binary", "--full-index")))


@pytest.fixture
def flow(tmp_path: Path) -> Flow_:
    """Make a Flow of an upstream (one tree, or trees by tag) and a patchset."""

    def make(upstream: Mapping[str, Tree] | Tree, patchset: Tree | None = None) -> Flow:
        first = next(iter(upstream.values()))
        tags = {"v1.0.0": upstream} if isinstance(first, (str, bytes)) else upstream
        from harness import series

        files = dict(patchset or {"series.toml": series("v1.0.0", patches=[])})
        return Flow(tmp_path / "case", upstream=tags, patchset=files)  # type: ignore[arg-type]

    return make


@pytest.fixture
def diff(tmp_path: Path) -> Callable[..., bytes]:
    """`git diff` between two trees given as dictionaries."""
    return lambda old, new, *options: git_diff(tmp_path / "scratch", old, new, *options)


@pytest.fixture
def tree() -> Callable[[Path], Bytes]:
    return tree_of
