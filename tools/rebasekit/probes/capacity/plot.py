"""The picture: what share of a card each thing takes as context grows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rebasekit.errors import UsageError
from rebasekit.model.size import GIB
from rebasekit.probes.capacity.card import PARTS, Share

_SUFFIXES = (".png", ".svg", ".pdf")
_COLOURS = ("#4c566a", "#5e81ac", "#88c0d0", "#a3be8c", "#bf616a", "#d8dee9", "#e5e9f0")


def draw(target: Path, shares: Sequence[Share], card: int, title: str) -> None:
    """Write the picture to `target`; the line is what the card has. Raises UsageError for another kind of file."""
    if target.suffix.lower() not in _SUFFIXES:
        raise UsageError(f"`{target}` is no picture; the name ends with {', '.join(_SUFFIXES)}")
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcParams["svg.hashsalt"] = "rebasekit"  # the same figures give the same file
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9, 5))
    tokens = [share.tokens for share in shares]
    used = [part for part in PARTS if any(share.parts[part] for share in shares)]
    rows = [[share.parts[part] / GIB for share in shares] for part in used]
    axes.stackplot(tokens, *rows, labels=used, colors=[_COLOURS[PARTS.index(part)] for part in used])
    axes.axhline(card / GIB, color="black", linestyle="--", linewidth=1, label=f"the card, {card / GIB:.1f} GiB")
    axes.set(xlabel="tokens of one chain", ylabel="GiB on one card", title=title)
    axes.set_xlim(tokens[0], tokens[-1])
    axes.xaxis.set_major_formatter("{x:,.0f}")
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles[::-1], labels[::-1], loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize="small")
    figure.tight_layout()
    metadata = {"Date": None} if target.suffix.lower() == ".svg" else None
    figure.savefig(target, metadata=metadata)
    pyplot.close(figure)
