"""The cliff: a card that says it is busy all the time, and takes a fraction of the power that it takes under load.

Utilisation is the share of time in which any kernel ran, so a card that waits inside small kernels, for memory to be
moved or for another card, still says 100 %. Power falls all the same.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rebasekit.probes.measure.gpu import Sample

BUSY, FULL = 90, 95  # per cent of utilisation: counts as loaded, counts as near 100
FRACTION = 0.6  # of the loaded figure
_WINDOW = 3  # looks in a row for a loaded figure
_RUN = 2  # looks in a row for a cliff


@dataclass(frozen=True)
class Cliff:
    """When, with how many clients, and how far: medians of utilisation and of watts, beside the loaded watts."""

    card: int
    start: float
    end: float
    clients: int
    utilisation: float
    power: float
    loaded: float

    @property
    def text(self) -> str:
        when = f"from {self.start:.0f} s to {self.end:.0f} s ({self.clients} clients)"
        power = f"{self.power:.0f} W, {self.power / self.loaded:.0%} of the {self.loaded:.0f} W under load"
        return f"card {self.card}: a cliff {when}: utilisation {self.utilisation:.0f} %, power {power}"


def loaded(samples: Iterable[Sample], card: int) -> float | None:
    """The card's loaded figure in watts: the best mean of three looks in a row at which it was busy."""
    best: float | None = None
    window: list[float] = []
    for sample in samples:
        if sample.card != card:
            continue
        if sample.power is None or (sample.utilisation or 0) < BUSY:
            window.clear()
            continue
        window = [*window[-(_WINDOW - 1) :], sample.power]
        if len(window) == _WINDOW:
            best = max(best or 0.0, statistics.fmean(window))
    return best


def cliffs(samples: Sequence[Sample], card: int, figure: float | None) -> list[Cliff]:
    """Where the card fell off, in order; none when there is no loaded figure to compare with."""
    if not figure:
        return []
    found, run = [], list[Sample]()
    for sample in [*(each for each in samples if each.card == card), None]:
        low = (
            sample is not None
            and (sample.utilisation or 0) >= FULL
            and sample.power is not None
            and sample.power <= FRACTION * figure
        )
        if low and sample is not None:
            run.append(sample)
            continue
        if len(run) >= _RUN:
            found.append(_cliff(run, figure))
        run = []
    return found


def _cliff(run: Sequence[Sample], figure: float) -> Cliff:
    return Cliff(
        run[0].card,
        run[0].seconds,
        run[-1].seconds,
        max(sample.clients for sample in run),
        statistics.median(sample.utilisation or 0 for sample in run),
        statistics.median(sample.power or 0.0 for sample in run),
        figure,
    )
