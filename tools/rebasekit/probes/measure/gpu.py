"""Cards as NVIDIA's library has them: memory, utilisation, power and temperature, at intervals beside other work."""

from __future__ import annotations

import asyncio
import importlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

EVERY = 3.0  # seconds


@dataclass(frozen=True)
class Card:
    """One card: its number, name, memory in bytes, and the watts it may take."""

    number: int
    name: str
    memory: int | None = None
    limit: float | None = None


@dataclass(frozen=True)
class Sample:
    """One look at one card, seconds after the start. None where the card does not say.

    `memory` bytes in use, `utilisation` per cent of the time in which a kernel ran, `power` watts, `temperature` °C.
    """

    seconds: float
    clients: int
    card: int
    memory: int | None = None
    utilisation: int | None = None
    power: float | None = None
    temperature: int | None = None


@dataclass(frozen=True)
class Cards:
    """An open library."""

    library: Any
    cards: tuple[Card, ...]

    def look(self, seconds: float, clients: int) -> list[Sample]:
        """What every card says now; takes a few milliseconds."""
        return [self._one(card.number, seconds, clients) for card in self.cards]

    def _one(self, number: int, seconds: float, clients: int) -> Sample:
        library = self.library
        handle = self._maybe(lambda: library.nvmlDeviceGetHandleByIndex(number))
        power = self._maybe(lambda: library.nvmlDeviceGetPowerUsage(handle))
        return Sample(
            seconds,
            clients,
            number,
            self._maybe(lambda: int(library.nvmlDeviceGetMemoryInfo(handle).used)),
            self._maybe(lambda: int(library.nvmlDeviceGetUtilizationRates(handle).gpu)),
            None if power is None else power / 1000,
            self._maybe(lambda: int(library.nvmlDeviceGetTemperature(handle, library.NVML_TEMPERATURE_GPU))),
        )

    def _maybe(self, read: Callable[[], Any]) -> Any:
        """A figure, None where the card has none."""
        try:
            return read()
        except self.library.NVMLError:
            return None


@contextmanager
def open_cards() -> Iterator[tuple[Cards | None, str]]:
    """The machine's cards; without them None, and why."""
    try:
        pynvml = importlib.import_module("pynvml")  # an extra without types
    except ModuleNotFoundError:
        yield None, f"no figures of cards: `{sys.executable} -m pip install 'rebasekit[gpu]'`"
        return
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        yield None, f"no figures of cards: {str(error).lower()}"
        return
    try:
        cards = Cards(pynvml, ())
        count = pynvml.nvmlDeviceGetCount()
        yield Cards(pynvml, tuple(_card(cards, number) for number in range(count))), ""
    finally:
        pynvml.nvmlShutdown()


def _card(cards: Cards, number: int) -> Card:
    library = cards.library
    handle = library.nvmlDeviceGetHandleByIndex(number)
    name = cards._maybe(lambda: library.nvmlDeviceGetName(handle)) or ""
    limit = cards._maybe(lambda: library.nvmlDeviceGetEnforcedPowerLimit(handle))
    return Card(
        number,
        name.decode() if isinstance(name, bytes) else str(name),
        cards._maybe(lambda: int(library.nvmlDeviceGetMemoryInfo(handle).total)),
        None if limit is None else limit / 1000,
    )


async def watch(cards: Cards, every: float, clients: Callable[[], int], take: Callable[[list[Sample]], None]) -> None:
    """Look at fixed times from now on until cancelled."""
    start = time.monotonic()
    number = 0
    while True:
        now = time.monotonic() - start
        take(await asyncio.to_thread(cards.look, now, clients()))
        number = max(number + 1, int((time.monotonic() - start) / every) + 1)
        await asyncio.sleep(max(0.0, number * every - (time.monotonic() - start)))
