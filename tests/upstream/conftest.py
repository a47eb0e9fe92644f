"""Generated wheels, a package index of files, and tiny tagged repositories: no test here needs the network."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import shutil
import stat
import subprocess
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from rebasekit.model.hunk import UpstreamSource
from rebasekit.model.tag import Tag
from rebasekit.upstream.store import Store

Files = Mapping[str, bytes]


def digest(content: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")


def write_wheel(
    folder: Path,
    version: str,
    files: Files,
    *,
    package: str = "demo",
    tags: str = "py3-none-any",
    record: Mapping[str, str] | None = None,
    metadata: str | None = None,
    entries: list[tuple[zipfile.ZipInfo, bytes]] | None = None,
    executable: tuple[str, ...] = (),
) -> Path:
    """A wheel with a right RECORD; `record` overrides rows of it, `entries` are more members as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{package}-{version}.dist-info"
    said = metadata or f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n"
    inside = dict(files)
    inside |= {
        f"{info}/METADATA": said.encode(),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: {tags}\n".encode(),
    }
    rows = {name: digest(content) for name, content in inside.items()}
    rows |= {entry.filename: digest(content) for entry, content in entries or () if not entry.is_dir()}
    rows |= dict(record or {})
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([name, value, ""] for name, value in rows.items() if value != "-")
    text.write(f"{info}/RECORD,,\n")
    path = folder / f"{package}-{version}-{tags}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in inside.items():
            member = zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0))
            member.external_attr = (stat.S_IFREG | (0o755 if name in executable else 0o644)) << 16
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, content)
        for entry, content in entries or ():
            archive.writestr(entry, content)
        archive.writestr(f"{info}/RECORD", text.getvalue())
    return path


class Index:
    """A package index of files, in the layout of PEP 503."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.url = f"file://{root}/simple"

    def add(self, wheel: Path, *, yanked: str | None = None, sha256: str | None = None) -> None:
        package = wheel.name.partition("-")[0]
        folder = self.root / "simple" / package
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(wheel, folder / wheel.name)
        value = sha256 or hashlib.sha256(wheel.read_bytes()).hexdigest()
        attribute = "" if yanked is None else f' data-yanked="{yanked}"'
        page = folder / "index.html"
        old = page.read_text() if page.exists() else "<!DOCTYPE html><html><body>\n"
        page.write_text(f'{old}<a href="{wheel.name}#sha256={value}"{attribute}>{wheel.name}</a><br>\n')


class Seen:
    """A progress that remembers what it was told."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.tasks: list[tuple[str, float | None, str]] = []
        self.done: dict[str, float] = {}

    def note(self, message: str) -> None:
        self.notes.append(message)

    def task(self, label: str, total: float | None = None, unit: str = "") -> SeenTask:
        self.tasks.append((label, total, unit))
        self.done[label] = 0
        return SeenTask(self, label)


class SeenTask:
    def __init__(self, seen: Seen, label: str) -> None:
        self._seen, self._label = seen, label

    def advance(self, amount: float = 1) -> None:
        self._seen.done[self._label] += amount

    def __enter__(self) -> SeenTask:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture(autouse=True)
def environment(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of the caller's pip or git settings, except where real releases are fetched."""
    if request.node.get_closest_marker("release"):
        return
    for name in list(os.environ):
        if name.startswith(("GIT_", "PIP_", "REBASEKIT_CACHE")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", f"file://{tmp_path}/index/simple")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture
def make_wheel() -> Callable[..., Path]:
    return write_wheel


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return Index(tmp_path / "index")


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Store]:
    """A store of the package `demo` in an empty cache."""
    with Store.open(tmp_path / "cache", UpstreamSource("pypi", package="demo")) as store:
        yield store


@pytest.fixture
def put(demo: Store, tmp_path: Path) -> Callable[..., Tag]:
    """Put a release of `demo` into the store out of a kept wheel, without pip."""

    def put_release(version: str, files: Files, **how: object) -> Tag:
        write_wheel(demo.root / "wheels", version, files, **how)  # type: ignore[arg-type]
        tag = Tag.parse(version)
        demo.ensure(tag)
        return tag

    return put_release


def git(directory: Path, *args: str, data: bytes = b"") -> str:
    env = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "HOME": "/nowhere"}
    for role in ("AUTHOR", "COMMITTER"):
        env |= {
            f"GIT_{role}_NAME": "U",
            f"GIT_{role}_EMAIL": "u@example.invalid",
            f"GIT_{role}_DATE": "1700000000 +0000",
        }
    done = subprocess.run(["git", *args], cwd=directory, env=env, input=data, capture_output=True, check=True)
    return done.stdout.decode()


@pytest.fixture(name="git")
def git_fixture() -> Callable[..., str]:
    return git


@pytest.fixture
def make_repo(tmp_path: Path) -> Callable[..., Path]:
    """Make a repository with one commit and tag per release: `{"v1.0": {"a.py": b"…"}}`."""

    def make(releases: Mapping[str, Files], name: str = "repo", *, annotated: bool = False) -> Path:
        root = tmp_path / name
        root.mkdir()
        git(root, "init", "-q", "-b", "main")
        for tag, files in releases.items():
            for old in root.iterdir():
                if old.name != ".git":
                    shutil.rmtree(old) if old.is_dir() else old.unlink()
            for path, content in files.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_bytes(content)
            git(root, "add", "-A")
            git(root, "commit", "-q", "--allow-empty", "-m", tag)
            git(root, "tag", *(["-a", "-m", tag] if annotated else []), tag)
        return root

    return make
