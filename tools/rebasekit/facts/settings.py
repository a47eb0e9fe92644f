"""What a tree's reader must be told: where serving starts, and how tests and simulations are recognised."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

# How a scope can be reached; the numbers are indexes into LEVELS.
DEAD, SERVING, SIMULATION, SCRIPTED, TEST = range(5)
LEVELS = ("dead", "serving", "simulation", "script", "test")

TEST_PATHS = r"(^|/)(tests?|testing|unit_tests?)/|(^|/)(test_[^/]*|[^/]*_test|unit_?tests?|conftest)\.py$"
SIMULATIONS = r"(?i)(^|[._])(simulat|mock)"


class Settings(NamedTuple):
    """`entries` are modules (their `__main__` block included) or `module:function`; the rest are regular expressions.

    `test_paths` is searched in a file's path, `simulations` in a scope's qualified name.
    """

    entries: tuple[str, ...]
    test_paths: str = TEST_PATHS
    simulations: str = SIMULATIONS

    @property
    def key(self) -> str:
        """Tells these settings from others. No digest: what makes one takes longer to import than an answer to find."""
        return repr((*self.entries, self.test_paths, self.simulations))

    @property
    def test_pattern(self) -> re.Pattern[str]:
        return _compiled(self.test_paths)

    @property
    def simulation_pattern(self) -> re.Pattern[str]:
        return _compiled(self.simulations)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
