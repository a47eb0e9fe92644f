"""Reading objects of a repository through `cat-file` processes that stay open."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import weakref
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple, Self

from rebasekit.errors import StateError
from rebasekit.upstream import command

_AHEAD = 256  # requests written before their answers are read: 41 bytes each, well below a pipe's buffer


class Info(NamedTuple):
    """An object's id, type and size in bytes."""

    id: str
    kind: str
    size: int


class _Process:
    """One `cat-file` process. A fork gets its own: two processes on one pipe would steal each other's answers."""

    def __init__(self, git_dir: Path, mode: str, hint: str | None) -> None:
        self._git_dir = git_dir
        self._hint = hint
        self._mode = mode
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._stop: weakref.finalize[..., _Process] | None = None

    def ask(self, names: list[str]) -> list[tuple[Info, bytes] | None]:
        with self._lock:
            stdin, stdout = self._pipes()
            try:
                stdin.write("".join(f"{name}\n" for name in names).encode("utf-8", "surrogateescape"))
                stdin.flush()
                return [self._answer(stdout) for _ in names]
            except (OSError, ValueError) as error:
                self._close()
                raise StateError(f"`{self._git_dir}` cannot be read: {error}", hint=self._hint) from None
            except BaseException:
                self._close()  # answers may be left in the pipe
                raise

    def _answer(self, stdout: IO[bytes]) -> tuple[Info, bytes] | None:
        line = stdout.readline()
        if not line:
            raise ValueError("git ended, an object is damaged")
        fields = line.decode("utf-8", "surrogateescape").rstrip("\n").rsplit(" ", 2)
        if len(fields) != 3 or not fields[2].isdigit():
            return None  # "<name> missing" or "<name> ambiguous"
        info = Info(fields[0], fields[1], int(fields[2]))
        if self._mode != "--batch":
            return info, b""
        content = stdout.read(info.size + 1)
        if len(content) != info.size + 1:
            raise ValueError("an object is damaged")
        return info, content[:-1]

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        if self._owner != os.getpid():
            self._process, self._stop, self._owner = None, None, os.getpid()
        if self._process is None or self._process.poll() is not None:
            self._close()
            self._process = command.start(["cat-file", self._mode], git_dir=self._git_dir)
            self._stop = weakref.finalize(self, _end, self._process, self._owner)
        assert self._process.stdin is not None and self._process.stdout is not None
        return self._process.stdin, self._process.stdout

    def _close(self) -> None:
        if self._stop is not None:
            self._stop()
        self._process = self._stop = None

    def close(self) -> None:
        with self._lock:
            if self._owner == os.getpid():
                self._close()


def _end(process: subprocess.Popen[bytes], owner: int) -> None:
    if owner != os.getpid():
        return
    for pipe in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):
            assert pipe is not None
            pipe.close()
    with contextlib.suppress(OSError):
        process.kill()  # an idle reader has nothing to lose
    process.wait()


class Objects:
    """The objects of one repository, by id or by revision. `close` ends the processes; the next call opens new ones.

    `hint` is what a reader can do about a damaged repository.
    """

    def __init__(self, git_dir: Path, hint: str | None = None) -> None:
        self._contents = _Process(git_dir, "--batch", hint)
        self._infos = _Process(git_dir, "--batch-check", hint)
        self._git_dir = git_dir
        self._hint = hint

    def info(self, name: str) -> Info | None:
        """What `name` (an id or a revision, on one line) is, or None when there is no such object."""
        return self.infos([name])[0]

    def infos(self, names: Iterable[str]) -> list[Info | None]:
        """What each of `names` is, None for what the repository does not have."""
        wanted, found = iter(names), list[Info | None]()
        while part := list(islice(wanted, _AHEAD)):
            found += [answer[0] if answer else None for answer in self._infos.ask(part)]
        return found

    def read(self, blob: str) -> bytes:
        """The content of a blob; raise StateError when the repository lacks it."""
        return next(self.read_many([blob]))[1]

    def read_many(self, ids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Ids and contents in the order asked for, read ahead a little; raise StateError for a missing one."""
        wanted = iter(ids)
        while names := list(islice(wanted, _AHEAD)):
            for name, answer in zip(names, self._contents.ask(names), strict=True):
                if answer is None:
                    raise StateError(f"`{self._git_dir}` lacks object `{name}`", hint=self._hint)
                yield name, answer[1]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._contents.close()
        self._infos.close()
