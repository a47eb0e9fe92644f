"""What the kernels do not do, refused by name before a wrong answer can leave."""

from __future__ import annotations


class UnsupportedFeature(NotImplementedError):
    """A feature of attention that int2 does not serve; the message names it."""


def refuse(*, logit_cap: float | None = None, sinks: object | None = None, sliding_window: int | None = None) -> None:
    """Raise `UnsupportedFeature` for a logit soft cap, attention sinks (learned logits) or a sliding window.

    The values that models use for "off" pass: a cap of 0, no sinks, a window of -1 or None.
    """
    if logit_cap:
        raise UnsupportedFeature(f"int2 does not serve a logit soft cap (`logit_cap` = {logit_cap})")
    if sinks is not None:
        raise UnsupportedFeature("int2 does not serve attention sinks (`sinks`)")
    if sliding_window is not None and sliding_window >= 0:
        raise UnsupportedFeature(f"int2 does not serve a sliding window (`sliding_window` = {sliding_window})")
