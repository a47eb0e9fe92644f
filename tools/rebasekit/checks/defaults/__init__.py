"""Did a default or a registry's choice flip that a patch relies on, and which hunks does that bypass?"""

from __future__ import annotations

from rebasekit.checks.defaults.check import Defaults, ReliedHunk, Standing, defaults
from rebasekit.checks.defaults.propose import propose

__all__ = ["Defaults", "ReliedHunk", "Standing", "defaults", "propose"]
