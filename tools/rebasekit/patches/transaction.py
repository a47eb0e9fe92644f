"""Many changes below one root that become visible together or not at all."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from rebasekit.errors import PatchsetError, StateError
from rebasekit.patches.files import Files, Unreadable
from rebasekit.patches.journal import roll_forward, target
from rebasekit.patches.lock import locked
from rebasekit.patches.prepare import prepare
from rebasekit.patches.recovery import recover


class Transaction:
    """Stage writes, deletes and renames in memory, then `commit`; without it nothing happens.

    Paths are relative to `root` (the folder that holds `patchset/` and `upstream-map/`). `files` reads with the
    staged changes in place. Whatever was read through it, or written, must not have been changed by somebody else
    when the commit comes. With `anywhere`, `root` is any folder (a release that is patched in place).
    """

    def __init__(self, root: Path, *, anywhere: bool = False) -> None:
        self.root = root.resolve()
        self._anywhere = anywhere
        recover(self.root, anywhere=anywhere)
        self._staged: dict[str, bytes | None] = {}
        self._modes: dict[str, int] = {}
        self.files = Files(self.root, self._staged)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._staged.clear()

    def read(self, path: str) -> bytes:
        """Contents as staged; raise StateError when there is no such file."""
        try:
            return self.files.read(path)
        except Unreadable as error:
            raise StateError(f"`{path}` {error}") from None

    def write(self, path: str, data: str | bytes, *, mode: int | None = None) -> None:
        """Stage a file; an existing file keeps its permissions unless `mode` gives others."""
        self._touch(path)
        try:
            self._staged[path] = data.encode("utf-8") if isinstance(data, str) else data
        except UnicodeEncodeError:
            raise PatchsetError(path, "the text to write holds half a character") from None
        if mode is not None:
            self._modes[path] = mode

    def delete(self, path: str) -> None:
        """Stage a deletion; raise StateError when there is no such file."""
        self.read(path)
        self._touch(path)
        self._staged[path] = None
        self._modes.pop(path, None)

    def rename(self, old: str, new: str) -> None:
        """Stage a rename; raise StateError when `new` exists."""
        data, mode = self.read(old), self._mode(old)
        if self.files.exists(new):
            raise StateError(f"`{new}` exists")
        self.delete(old)
        self.write(new, data, mode=mode)

    @contextmanager
    def rolled_back_on_error(self) -> Iterator[None]:
        """Take back what was staged inside when an error leaves the block."""
        staged, modes = dict(self._staged), dict(self._modes)
        try:
            yield
        except BaseException:
            self._staged.clear()
            self._staged.update(staged)
            self._modes = modes
            raise

    def commit(self, validate: Callable[[Files], None] | None = None) -> None:
        """Make all staged changes real. `validate` sees the new state first and raises to stop it."""
        if validate is not None:
            validate(self.files)
        self._drop_unchanged()
        if not self._staged:
            return
        with locked(self.root, exclusive=True):
            roll_forward(self.root, anywhere=self._anywhere)
            self._check_unchanged()
            modes = {path: self._mode(path) for path in self._staged}
            steps = prepare(self.root, self._staged, modes, anywhere=self._anywhere)
            roll_forward(self.root, anywhere=self._anywhere)
        for step in steps:
            self.files.seen.pop(step.path, None)
        self._staged.clear()
        self._modes.clear()

    def _touch(self, path: str) -> None:
        target(self.root, path, anywhere=self._anywhere)
        if path not in self.files.seen:
            try:
                self.files.on_disk(path)
            except Unreadable as error:
                raise StateError(f"`{path}` {error}") from None

    def _mode(self, path: str) -> int | None:
        if path in self._modes:
            return self._modes[path]
        try:
            return stat.S_IMODE((self.root / path).stat().st_mode)
        except OSError:
            return None

    def _drop_unchanged(self) -> None:
        for path, data in list(self._staged.items()):
            digest = None if data is None else hashlib.sha256(data).hexdigest()
            if digest == self.files.seen.get(path) and path not in self._modes:
                del self._staged[path]

    def _check_unchanged(self) -> None:
        now = Files(self.root)
        for path, digest in self.files.seen.items():
            try:
                now.on_disk(path)
            except Unreadable as error:
                raise StateError(f"`{path}` {error}") from None
            if now.seen[path] != digest:
                raise StateError(f"`{path}` was changed meanwhile, nothing was written", hint="run the command again")
