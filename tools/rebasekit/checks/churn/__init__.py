"""churn: how much did the files and scopes that we touch move between two tags, and is a review due?"""

from __future__ import annotations

from rebasekit.checks.churn.count import FileChurn, ScopeChurn, churn
from rebasekit.checks.churn.due import review_due

__all__ = ["FileChurn", "ScopeChurn", "churn", "review_due"]
