"""Progress of long work: libraries report it, only the console shows it."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self


class Task(Protocol):
    """One bar. Used as a context manager, so that it ends whatever happens."""

    def advance(self, amount: float = 1) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Progress(Protocol):
    """Where work reports itself. `unit` is "bytes" or a plural noun; `total` None when it is not known."""

    def task(self, label: str, total: float | None = None, unit: str = "") -> Task: ...

    def note(self, message: str) -> None: ...


class _SilentTask:
    def advance(self, amount: float = 1) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


class SilentProgress:
    """Shows nothing; the default everywhere."""

    def task(self, label: str, total: float | None = None, unit: str = "") -> Task:
        return _SilentTask()

    def note(self, message: str) -> None:
        pass


SILENT: Progress = SilentProgress()
