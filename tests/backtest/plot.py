"""`docs/backtest.svg`: what became of the hunks, by tool."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot
from tests.backtest.judge import Result
from tests.backtest.run import Run
from tests.backtest.table import counts

COLOURS = {
    Result.SAME: "#4c9f70",
    Result.SOUND: "#a8d5ba",
    Result.THERE: "#8fb3d9",
    Result.ASKED: "#e0c04c",
    Result.TOLD: "#e08e45",
    Result.SILENT: "#c0392b",
}


def draw(runs: Sequence[Run], path: Path) -> None:
    """One bar per tool and run, in per cent of the run's hunks; the same runs give the same bytes."""
    mpl.rcParams |= {"svg.hashsalt": "rebasekit", "svg.fonttype": "none", "font.size": 9}
    bars = [(run, column) for run in runs for column in run.columns]
    figure, axes = pyplot.subplots(figsize=(9, 0.34 * len(bars) + 1.4))
    labels = [f"{run.fork.name} → {run.target}: {column.tool}" for run, column in bars]
    left = [0.0] * len(bars)
    for result in Result:
        widths = [100 * counts(column)[result] / max(run.hunks, 1) for run, column in bars]
        axes.barh(labels, widths, left=left, color=COLOURS[result], label=result.value, height=0.72)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    axes.invert_yaxis()
    axes.set_xlim(0, 100)
    axes.set_xlabel("per cent of the hunks")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.legend(loc="lower center", ncols=6, frameon=False)
    figure.tight_layout(rect=(0, 0.5 / (0.34 * len(bars) + 1.4), 1, 1))
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
