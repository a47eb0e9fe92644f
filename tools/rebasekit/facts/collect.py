"""Pausing the garbage collector."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """No collections inside: syntax trees and facts have no cycles, and walking them again and again costs a third."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


@contextlib.contextmanager
def frozen() -> Iterator[None]:
    """Collections inside look only at what is made inside, so that they cost little however much is there already."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
