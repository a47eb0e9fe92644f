"""Progress of long work on standard error: bars on a terminal, one line per stage in a pipe."""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rebasekit.visible import visible

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from rebasekit.console import Console

_PATIENCE = 0.5  # seconds of work before anything appears
_UNITS = ("B", "kB", "MB", "GB")


def amount(done: float, total: float | None, unit: str) -> str:
    """`12.3/55.2 MB`, `12/617 files`, or what is known of it."""
    if unit != "bytes":
        count = f"{done:.0f}" if total is None else f"{done:.0f}/{total:.0f}"
        return f"{count} {unit}".rstrip() if total is not None or done else ""
    largest, scale = max(done, total or 0), 0
    while largest >= 1000 and scale < len(_UNITS) - 1:
        largest, scale = largest / 1000, scale + 1
    digits = 0 if scale == 0 else 1
    parts = [f"{number / 1000**scale:.{digits}f}" for number in (done, total) if number is not None]
    return f"{'/'.join(parts)} {_UNITS[scale]}"


class Bars:
    """All running tasks of one command and their shared display."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._display: Progress | None = None
        self._running: set[Bar] = set()
        self.lock = threading.RLock()

    def task(self, label: str, total: float | None, unit: str) -> Bar:
        bar = Bar(self, label, total, unit)
        self._running.add(bar)
        return bar

    def appear(self, bar: Bar) -> None:
        """Show a task that is still running after a while; called from its timer."""
        with self.lock:
            if bar not in self._running:
                return
            if not sys.stderr.isatty():
                size = f" ({amount(bar.total, None, bar.unit)})" if bar.total else ""
                print(f"{visible(bar.label)}{size} …", file=sys.stderr, flush=True)
                return
            if self._display is None:
                from rich import progress as rich

                columns = (
                    rich.TextColumn("{task.description}", markup=False),
                    rich.BarColumn(bar_width=30),
                    rich.TextColumn("{task.fields[amount]}", markup=False),
                    rich.TimeElapsedColumn(),
                )
                self._display = rich.Progress(*columns, console=self._console.rich(sys.stderr), transient=True)
                self._display.start()
            bar.id = self._display.add_task(visible(bar.label), total=bar.total, amount="")
            self.update(bar)

    def update(self, bar: Bar) -> None:
        if self._display is not None and bar.id is not None:
            text = amount(bar.done, bar.total, bar.unit)
            self._display.update(bar.id, completed=bar.done, amount=text)

    def finish(self, bar: Bar) -> None:
        with self.lock:
            self._running.discard(bar)
            if self._display is None:
                return
            if bar.id is not None:
                self._display.remove_task(bar.id)
            if not self._running:
                self._display.stop()
                self._display = None

    def close(self) -> None:
        for bar in list(self._running):
            bar.stop()


class Bar:
    """One task; a context manager, so that its bar goes whatever happens."""

    def __init__(self, bars: Bars, label: str, total: float | None, unit: str) -> None:
        self.label, self.total, self.unit = label, total, unit
        self.done = 0.0
        self.id: TaskID | None = None
        self._bars = bars
        self._timer = threading.Timer(_PATIENCE, bars.appear, (self,))
        self._timer.daemon = True
        self._timer.start()

    def advance(self, amount: float = 1) -> None:
        with self._bars.lock:
            self.done += amount
            self._bars.update(self)

    def stop(self) -> None:
        self._timer.cancel()
        self._bars.finish(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
