"""One picture per probe, PNG or SVG by its name. matplotlib is an extra, and imported only here."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rebasekit.errors import UsageError
from rebasekit.probes.measure import speed as kinds

if TYPE_CHECKING:
    from rebasekit.probes.measure.compare import Comparison
    from rebasekit.probes.measure.depth import Depth
    from rebasekit.probes.measure.load import Load
    from rebasekit.probes.measure.retention import Retention
    from rebasekit.probes.measure.speed import Speed

_SIZE = (7.5, 4.0)  # inches
_COLOURS = ("#2f6fab", "#d1603d", "#4f9d69", "#8a63a8", "#b08d2e", "#5b6770")
SUFFIXES = (".png", ".svg")


def check(target: str) -> None:
    """Raise before anything is measured when the picture could not be drawn."""
    path = Path(target)
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"`{target}` is neither a PNG nor an SVG", hint="--plot FILE.svg")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"there is no folder `{path.parent}`", hint=f"mkdir -p {path.parent}")
    if find_spec("matplotlib") is None:
        raise ModuleNotFoundError(name="matplotlib")


def retention(found: Retention, target: str) -> None:
    """Share of each lap from the cache, a line for each number of chains."""
    figure, axes = _figure()
    for number, chains in enumerate(found.sweep):
        laps = [(lap, share) for lap in range(1, found.laps + 1) if (share := found.share(chains, lap)) is not None]
        style = {"color": _colour(number), "marker": "o", "label": f"{chains} × {found.tokens:,} tokens"}
        axes.plot([lap for lap, _ in laps], [100 * share for _, share in laps], **style)
    axes.set(xlabel="lap (the first is cold)", ylabel="prompt tokens from the cache, %", ylim=(-4, 104))
    axes.set_xticks(range(1, found.laps + 1))
    pool = f" of a pool of {found.server.pool:,} tokens" if found.server.pool else ""
    _finish(figure, axes, f"what stays{pool}", target)


def speed(found: Speed, target: str) -> None:
    """Seconds to the first content of every answer, a column of dots for each kind, on a logarithmic scale."""
    from matplotlib.ticker import EngFormatter

    figure, axes = _figure()
    order = [kind for kind in (kinds.SHORT, kinds.BEHIND, kinds.PREFILL) if found.firsts(kind)]
    for number, kind in enumerate(order):
        seconds = found.firsts(kind)
        axes.scatter([number] * len(seconds), seconds, color=_colour(number), alpha=0.7)
        axes.annotate(f"{kinds.middle(seconds):.3g} s", (number, kinds.middle(seconds)), (10, -4), **_BESIDE)
    axes.set_xticks(range(len(order)), order)
    axes.set(ylabel="time to the first content", yscale="log", xlim=(-0.5, len(order) - 0.2))
    for axis in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
        axis(EngFormatter(unit="s"))
    prefill, decode = found.rates(kinds.PREFILL), found.rates(kinds.DECODE)
    parts = [f"prefill {kinds.middle(prefill):,.0f} tokens/s"] if prefill else []
    parts += [f"decode {kinds.middle(decode):,.1f} tokens/s"] if decode else []
    _finish(figure, axes, ", ".join(parts), target, legend=False)


def depth(found: Depth, target: str) -> None:
    """Tokens that the cache matched over tokens that were known, with the line on which all would be."""
    figure, axes = _figure()
    cuts = sorted(found.cuts, key=lambda cut: cut.cut)
    where = [cut.cut for cut in cuts]
    axes.plot([0, *where], [0, *where], color="#999999", linestyle=":", label="all that is known")
    axes.plot(where, [cut.cached for cut in cuts], color=_colour(0), marker="o", label="from the cache")
    axes.fill_between(where, [cut.cached for cut in cuts], where, color=_colour(1), alpha=0.2, label="read again")
    axes.set(xlabel="tokens in common with a chain that was asked", ylabel="tokens")
    others = f", {found.others} other chains in between" if found.others else ""
    _finish(figure, axes, f"chains of {found.tokens:,} tokens{others}", target)


def load(found: Load, target: str) -> None:
    """What all clients get over their number; with cards, utilisation and power over time, and the cliffs."""
    rows = 3 if found.samples else 1
    figure, panels = _figure(rows)
    axes = list(panels) if rows > 1 else [panels]
    levels = found.levels
    where = [level.clients for level in levels]
    axes[0].plot(where, [level.written for level in levels], color=_colour(0), marker="o", label="written")
    axes[0].set(xlabel="clients", ylabel="new tokens/s, all together", ylim=(0, None))
    axes[0].set_xticks(where)
    beside = axes[0].twinx()
    beside.plot(where, [level.first or 0 for level in levels], color=_colour(1), marker="s", linestyle="--")
    beside.set_ylabel("seconds to the first content", color=_colour(1))
    beside.set_ylim(bottom=0)
    for number, card in enumerate(found.cards if found.samples else ()):
        mine = [each for each in found.samples if each.card == card.number]
        times = [each.seconds for each in mine]
        label = f"card {card.number}"
        axes[1].plot(times, [each.utilisation for each in mine], color=_colour(number), label=label)
        axes[2].plot(times, [each.power for each in mine], color=_colour(number), label=label)
        for fallen in (each for each in found.cliffs if each.card == card.number):
            axes[2].axvspan(fallen.start, fallen.end, color="#888888", alpha=0.2, label=f"{label}: cliff")
    if rows > 1:
        axes[1].set(ylabel="utilisation, %", ylim=(0, 105))
        axes[2].set(xlabel="seconds", ylabel="power, W", ylim=(0, None))
        axes[2].legend(frameon=False)
    _finish(figure, axes, f"{found.tokens:,} tokens in, {found.new:,} out", target, legend=False)


def compare(found: Comparison, target: str) -> None:
    """Length of the answers that both have in common, a bar for each prompt."""
    figure, axes = _figure()
    parts = {each.prompt: each.at for each in found.differences}
    for number in range(found.prompts):
        if found.a.of(number) and found.b is not None and found.b.of(number):
            at = parts.get(number, found.new)
            axes.bar(number + 1, at, color=_colour(1 if number in parts else 2))
    axes.axhline(found.new, color="#999999", linestyle=":")
    axes.set(xlabel="prompt, from short to long", ylabel="tokens until the answers part", ylim=(0, found.new * 1.05))
    _finish(figure, axes, "the same" if not parts else f"{len(parts)} of {found.compared} differ", target, legend=False)


_BESIDE: dict[str, Any] = {"textcoords": "offset points"}


def _colour(number: int) -> str:
    return _COLOURS[number % len(_COLOURS)]


def _figure(rows: int = 1, **more: Any) -> tuple[Any, Any]:
    import matplotlib

    matplotlib.use("agg")  # draws into a file, also where there is no display
    from matplotlib import pyplot

    return pyplot.subplots(rows, figsize=(_SIZE[0], _SIZE[1] * (1 + (rows - 1) * 0.5)), layout="constrained", **more)


def _finish(figure: Any, axes: Any, title: str, target: str, *, legend: bool = True) -> None:
    """Write the picture, whole or not at all."""
    from matplotlib import pyplot

    panels: Sequence[Any] = axes if isinstance(axes, Sequence) else [axes]
    panels[0].set_title(title, loc="left")
    for each in panels:
        each.spines[["top", "right"]].set_visible(False)
        each.grid(axis="y", alpha=0.25)
    if legend and panels[0].get_legend_handles_labels()[0]:
        panels[0].legend(frameon=False)
    path = Path(target)
    partial = path.with_name(f".{path.name}.partial{path.suffix}")
    # without a date, the same figures give the same file
    metadata = {"Date": None} if path.suffix.lower() == ".svg" else {"Software": None}
    try:
        figure.savefig(partial, dpi=140, metadata=metadata)
        partial.replace(path)
    finally:
        pyplot.close(figure)
        with suppress(OSError):
            partial.unlink(missing_ok=True)
