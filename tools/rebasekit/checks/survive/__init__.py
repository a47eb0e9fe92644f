"""Does every upstream API that our lines use still exist, with a signature that fits?

`survive` compares two patched trees; see docs/checks.md for what it decides and what it leaves open.
"""

from __future__ import annotations

from rebasekit.checks.survive.check import Counted, Survival, survive
from rebasekit.checks.survive.hunks import Sight, UsedHunk

__all__ = ["Counted", "Sight", "Survival", "UsedHunk", "survive"]
