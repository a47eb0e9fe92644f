"""End-to-end cases: a tiny tagged upstream, a patchset on it, and rebasekit run over both.

    case = Case(tmp_path, upstream={"v1.0.0": {"pkg/a.py": "def one(): ..."}, "v1.1.0": {…}}, patchset={…})
    result = case.run("rebase", "v1.1.0")
    assert result.exit == 0 and result.json["hunks"][0]["placement"] == "carried"

`upstream` and `patchset` may also be folders (`tests/cases/working/<case>/`: `vX/…` per tag, `patchset/…`). A tag's
dict holds the whole tree of that tag. Nothing of the caller's environment, configuration or clock gets in.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Tree = Mapping[str, str | bytes]

EPOCH = 1_700_000_000  # 2023-11-14; each tag is one day later than the one before
EXECUTABLE = "#!"  # a file that starts with this has the bit
ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Result:
    """What one run left: exit code, both streams, and the JSON report when there was one."""

    exit: int
    stdout: str
    stderr: str
    json: Any = None

    def hunk(self, name: str) -> dict[str, Any]:
        """The report's entry for `patch/id`."""
        patch, _, hunk = name.rpartition("/")
        found: dict[str, Any] = next(h for h in self.json["hunks"] if h["id"] == hunk and patch in ("", h["patch"]))
        return found

    @property
    def placements(self) -> dict[str, str]:
        """Placement by `patch/id`."""
        return {f"{hunk['patch']}/{hunk['id']}": hunk["placement"] for hunk in self.json["hunks"]}

    @property
    def kinds(self) -> list[str]:
        """Kinds of all findings, those of hunks first, in order."""
        findings = [finding for hunk in self.json["hunks"] for finding in hunk["findings"]] + self.json["findings"]
        return [finding["kind"] for finding in findings]


@dataclass
class Case:
    """One upstream, one project and one cache below `root`."""

    root: Path
    upstream: Mapping[str, Tree] | Path
    patchset: Tree | Path = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.root = self.root.resolve()
        self.project = self.root / "project"
        self.cache = self.root / "cache"
        self.repository = self.root / "upstream"
        self.home = self.root / "home"
        for folder in (self.project, self.home):
            folder.mkdir(parents=True, exist_ok=True)
        self.env = clean_environment(self.home) | {"REBASEKIT_CACHE": str(self.cache)} | self.env
        tags = read_tags(self.upstream) if isinstance(self.upstream, Path) else dict(self.upstream)
        build_repository(self.repository, tags, self.env)
        files = read_tree(self.patchset) if isinstance(self.patchset, Path) else dict(self.patchset)
        files.setdefault("series.toml", series(next(iter(tags)), patches=sorted({p.split("/")[0] for p in files})))
        self.write(
            {
                f"patchset/{path}": as_bytes(text).replace(b"@UPSTREAM@", str(self.repository).encode())
                for path, text in files.items()
            }
        )

    def write(self, tree: Tree) -> None:
        """Write files into the project."""
        write_tree(self.project, tree)

    def tag(self, name: str, tree: Tree) -> None:
        """Upstream releases another tag."""
        build_repository(self.repository, {name: tree}, self.env)

    def run(self, *argv: str, json: bool | None = None, env: Mapping[str, str] | None = None) -> Result:
        """Run a command in this process. Reports are asked for as JSON on `rebase` unless `json` says otherwise."""
        from rebasekit.cli import main

        argv = self._with_json(argv, json)
        out, err = _Stream(), _Stream()
        world = environment({**self.env, **(env or {})}, self.project)
        with world, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(argv)
        return _result(code, out.text(), err.text(), argv)

    def spawn(self, *argv: str, json: bool | None = None, env: Mapping[str, str] | None = None) -> Result:
        """The same in a process of its own."""
        argv = self._with_json(argv, json)
        done = subprocess.run(
            [sys.executable, "-m", "rebasekit", *argv],
            cwd=self.project,
            env={**self.env, **(env or {})},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        return _result(done.returncode, done.stdout, done.stderr, argv)

    def snapshot(self) -> dict[str, str]:
        """Digest of every file of the project, to compare before and after."""
        return snapshot(self.project)

    def pristine(self, tag: str) -> dict[str, bytes]:
        """Upstream's bytes at a tag."""
        names = self.git("ls-tree", "-r", "--name-only", "-z", tag).decode().split("\0")
        return {name: self.git("show", f"{tag}:{name}") for name in names if name}

    def git(self, *argv: str) -> bytes:
        """Run git on the upstream repository."""
        return subprocess.run(["git", *argv], cwd=self.repository, env=self.env, capture_output=True, check=True).stdout

    def _with_json(self, argv: tuple[str, ...], json: bool | None) -> tuple[str, ...]:
        wanted = argv[:1] == ("rebase",) if json is None else json
        return (*argv, "--json", "-") if wanted and not any(word.startswith("--json") for word in argv) else argv


class _Stream(io.TextIOWrapper):
    """A stream in memory that stands for a pipe."""

    def __init__(self) -> None:
        self.bytes = io.BytesIO()
        super().__init__(self.bytes, encoding="utf-8", newline="")

    def text(self) -> str:
        self.flush()
        return self.bytes.getvalue().decode(errors="backslashreplace")


def _result(code: int, out: str, err: str, argv: tuple[str, ...]) -> Result:
    asked = any(word in ("--json", "--json=-") for word in argv)
    try:
        data = json.loads(out) if asked else None
    except ValueError:
        data = None
    return Result(code, out, err, data)


def series(base: str, *, patches: list[str], extra: str = "") -> str:
    """A `series.toml` on the case's upstream; `@UPSTREAM@` becomes its path."""
    names = ", ".join(f'"{name}"' for name in patches if name != "series.toml")
    return f'base = "{base}"\npatches = [{names}]\n\n[upstream]\nkind = "git"\nurl = "@UPSTREAM@"\n{extra}'


def patch_toml(*hunks: str, title: str = "a test patch", **header: str) -> str:
    """A `patch.toml` with the keys that every patch needs; each hunk is the text below `[[hunk]]`."""
    keys = {"title": title, "why": "the test needs it", "removal": "never", **header}
    head = "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())
    return head + "".join(f"\n[[hunk]]\n{textwrap.dedent(hunk).strip()}\n" for hunk in hunks)


def clean_environment(home: Path) -> dict[str, str]:
    """An environment with nothing of the caller's but PATH: no HOME, XDG_*, GIT_*, proxies or colours."""
    keep = {
        name: os.environ[name]
        for name in ("PATH", "LD_LIBRARY_PATH", "TMPDIR", "COVERAGE_PROCESS_START")
        if name in os.environ
    }
    who = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "Test"), ("EMAIL", "test@example.invalid"), ("DATE", f"{EPOCH} +0000"))
    }
    return (
        keep
        | who
        | {
            "HOME": str(home),
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_TERMINAL_PROMPT": "0",
            "PIP_NO_INDEX": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
    )


@contextlib.contextmanager
def environment(env: Mapping[str, str], folder: Path) -> Iterator[None]:
    """Replace the whole environment and the working folder for a while."""
    before, where = dict(os.environ), Path.cwd()
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(where)
        os.environ.clear()
        os.environ.update(before)


def build_repository(path: Path, tags: Mapping[str, Tree], env: Mapping[str, str]) -> None:
    """Commit each tree as a tag on `main`, in one `git fast-import`: the same trees give the same commits."""
    fresh = not path.exists()
    if fresh:
        subprocess.run(["git", "init", "-q", "-b", "main", str(path)], env=env, check=True)
    count = 0 if fresh else int(subprocess.check_output(["git", "rev-list", "--count", "main"], cwd=path, env=env))
    stream = io.BytesIO()
    for number, (tag, tree) in enumerate(tags.items(), start=count):
        who = f"Upstream <upstream@example.invalid> {EPOCH + 86_400 * number} +0000"
        stream.write(f"commit refs/heads/main\ncommitter {who}\n".encode() + _data(tag.encode()))
        if number and number == count:
            stream.write(b"from refs/heads/main^0\n")
        stream.write(b"deleteall\n")
        for name, text in tree.items():
            content = as_bytes(text)
            mode = "100755" if content.startswith(EXECUTABLE.encode()) else "100644"
            stream.write(f"M {mode} inline {json.dumps(name)}\n".encode() + _data(content))
        stream.write(f"tag {tag}\nfrom refs/heads/main\ntagger {who}\n".encode() + _data(tag.encode()))
    subprocess.run(["git", "fast-import", "--quiet"], input=stream.getvalue(), cwd=path, env=env, check=True)


def _data(content: bytes) -> bytes:
    return f"data {len(content)}\n".encode() + content + b"\n"


def as_bytes(text: str | bytes) -> bytes:
    """A file's bytes. Text is dedented and starts after the first line break, for triple quotes in tests."""
    if isinstance(text, bytes):
        return text
    return (textwrap.dedent(text[1:]) if text.startswith("\n") else text).encode()


def write_tree(root: Path, tree: Tree) -> None:
    for name, text in tree.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(as_bytes(text))


def read_tree(folder: Path) -> dict[str, str | bytes]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def read_tags(folder: Path) -> dict[str, Tree]:
    """The `vX` folders of a case as trees, in version order."""
    from packaging.version import Version

    folders = [path for path in folder.iterdir() if path.is_dir() and path.name.startswith("v")]
    return {path.name: read_tree(path) for path in sorted(folders, key=lambda path: Version(path.name))}


def snapshot(folder: Path) -> dict[str, str]:
    return {name: hashlib.sha256(as_bytes(data)).hexdigest() for name, data in read_tree(folder).items()}
