"""Writing commits through `git fast-import`: nothing touches a disk under a name of upstream's choosing."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from rebasekit.errors import StateError
from rebasekit.model.progress import Progress
from rebasekit.upstream import command, disk, paths
from rebasekit.upstream.release import Release

# The same for everybody, so that a release has the same commit id on every machine.
AUTHOR = "rebasekit <rebasekit@localhost>"
DATE = "946684800 +0000"

# zlib level 1 and no deltas: a release is written in a third of the time and takes a third more room.
_FAST = {"core.compression": "1", "pack.compression": "1", "fastimport.unpackLimit": "1"}


class FastImport:
    """A running `git fast-import`. Leaving the block without `finish` leaves no ref behind."""

    def __init__(self, git_dir: Path, *, loose: bool = False) -> None:
        self._git_dir = git_dir
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed in __exit__
        args = ["fast-import", "--quiet", "--done", "--force", "--depth=0", "--date-format=raw"]
        config = {"core.compression": "1"} if loose else _FAST
        self._process = command.start(args, git_dir=git_dir, config=config, stderr=self._errors)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()
        self._errors.close()

    def write(self, data: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(data)
        except OSError:  # fast-import has ended, and has said why
            self._process.wait()
            raise self._failure() from None

    def commit(self, ref: str, message: str, *, author: str, committer: str, parent: str = "", mark: int = 0) -> None:
        """Begin a commit; its file changes follow. `author` and `committer` are `Name <mail> seconds zone`."""
        told = message.encode()
        head = f"commit {ref}\n" + (f"mark :{mark}\n" if mark else "")
        self.write(f"{head}author {author}\ncommitter {committer}\ndata {len(told)}\n".encode() + told + b"\n")
        if parent:
            self.write(f"from {parent}\n".encode())

    def file(self, path: str, mode: str, size: int, chunks: Iterable[bytes]) -> int:
        """Add a file to the commit; `chunks` has to give `size` bytes."""
        self.write(f"M {mode} inline {_quoted(path)}\ndata {size}\n".encode())
        written = 0
        for chunk in chunks:
            written += len(chunk)
            self.write(chunk)
        if written != size:
            raise StateError(f"`{path}` has {written} bytes, not {size}")
        self.write(b"\n")
        return written

    def tree(self, tree: str) -> None:
        """Make a whole tree the commit's."""
        self.write(f'M 040000 {tree} ""\n'.encode())

    def delete(self, path: str) -> None:
        self.write(f"D {_quoted(path)}\n".encode())

    def ask_tree(self, mark: int) -> str:
        """The tree of a commit of this run."""
        self.write(f'\nls :{mark} ""\n'.encode())  # the empty line ends the commit, and gives it its mark
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.flush()
        except OSError:
            raise self._failure() from None
        fields = self._process.stdout.readline().split()
        return fields[2].decode() if len(fields) > 2 else ""

    def finish(self) -> None:
        """Write everything and end; raise StateError when git could not."""
        self.write(b"done\n")
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
        except OSError:
            raise self._failure() from None
        finally:
            self._process.stdin = None
        if self._process.wait() != 0:
            raise self._failure()

    def _failure(self) -> StateError:
        self._errors.seek(0)
        told = self._errors.read().decode(errors="replace")
        return command.failure("fast-import", self._process.wait(), told, self._git_dir)


def write_release(repo: Path, release: Release, history: Iterable[tuple[str, str | None]], progress: Progress) -> None:
    """Commit a release to `refs/heads/release` of `repo`, and the chain of releases to `refs/heads/releases`.

    `history` is a message and tree per release in version order, with None as the tree of this one. Raises
    UpstreamError for a release that is not as it should be, StateError when it cannot be written.
    """
    signed = {"author": f"{AUTHOR} {DATE}", "committer": f"{AUTHOR} {DATE}"}
    with (
        contextlib.closing(release.members) as members,
        FastImport(repo) as run,
        progress.task(f"store {release.title}", release.size, "bytes") as task,
    ):
        run.commit("refs/heads/release", release.message, mark=1, **signed)
        for member in members:
            chunks = iter(member.chunks)
            head = next(chunks, b"")
            if paths.compiled(member.path, head):
                task.advance(len(head) + sum(len(chunk) for chunk in chunks))  # read, for its checksum
                continue
            mode = "100755" if member.executable else "100644"
            task.advance(run.file(member.path, mode, member.size, _chain(head, chunks)))
        own = run.ask_tree(1)
        for number, (message, tree) in enumerate(history, start=2):
            run.commit("refs/heads/releases", message, mark=number, parent=f":{number - 1}" * (number > 2), **signed)
            run.tree(tree or own)
        run.finish()


def publish(quarantine: Path, git_dir: Path) -> None:
    """Move the packs of a finished import into the store; an index last, as git makes a pack seen."""
    packs = quarantine / "objects" / "pack"
    try:
        for suffix in (".pack", ".rev", ".idx"):
            for file in packs.glob(f"pack-*{suffix}"):
                file.replace(git_dir / "objects" / "pack" / file.name)
    except OSError as error:
        raise disk.explain(error, git_dir) from None


def _chain(head: bytes, chunks: Iterator[bytes]) -> Iterator[bytes]:
    yield head
    yield from chunks


def _quoted(path: str) -> str:
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'
