"""Who builds a class or calls a function, under which tests, and whether serving gets there.

`reach` answers for one name; `Reach` (in `answer`) keeps what it learnt between several; `kept` has the answers that
the cache kept.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rebasekit.checks.reach.answer import Reach, reach, reach_unindexed
    from rebasekit.checks.reach.report import Ambiguous, Match, NoSuchName, ReachReport, Site, Step

# Where each name is: a command whose answer was kept does not pay for what finds answers.
_MODULES = {
    **dict.fromkeys(("Reach", "reach", "reach_unindexed"), "answer"),
    **dict.fromkeys(("Ambiguous", "Match", "NoSuchName", "ReachReport", "Site", "Step"), "report"),
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(name)
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


__all__ = ["Ambiguous", "Match", "NoSuchName", "Reach", "ReachReport", "Site", "Step", "reach", "reach_unindexed"]
