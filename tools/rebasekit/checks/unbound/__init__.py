"""unbound: does every name in our lines resolve when it runs, not only at import?

`unbound` compares patched files with the pristine tree and gives what is new as findings; `compare` is the same with
names and scopes. `survey` reads files as they are and reports what fails on every run that gets there.
"""

from __future__ import annotations

from collections.abc import Mapping

from rebasekit.checks.unbound.check import Failing
from rebasekit.checks.unbound.compare import compare
from rebasekit.checks.unbound.flakes import pyflakes
from rebasekit.checks.unbound.survey import survey
from rebasekit.checks.unbound.tree import RepositoryTree, Tree
from rebasekit.model.finding import Finding

KINDS = ("unbound", "unbound-before-assignment", "type-checking-only", "stale-from-import", "unread")

__all__ = ["KINDS", "Failing", "RepositoryTree", "Tree", "compare", "survey", "unbound"]


def unbound(patched: Mapping[str, bytes | None], tree: Tree, *, next: str = "rebasekit list") -> tuple[Finding, ...]:
    """What fails in the patched files, or because of them, and does not in the pristine tree.

    `patched` maps each changed path to its bytes, None for a file that is gone; `tree` is the pristine tree. `next`
    is the command that the findings name. A file that cannot be parsed is a finding of kind `unread`. Raises
    StateError when pyflakes is missing.
    """
    pyflakes()
    found = compare(patched, tree)
    return tuple(Finding(one.kind, one.file, one.line, one.message, next) for one in found)
