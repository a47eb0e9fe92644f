"""What a hunk's scope is called in the whole tree."""

from __future__ import annotations

import re

from rebasekit.facts.file import module_name
from rebasekit.model.placement import Placement

_QUALIFIER = re.compile(r"\[[^\]]*\]")  # what tells twins apart, which names of facts have not


def dotted_scope(placement: Placement) -> str:
    """`pkg.module.Class.method`."""
    return f"{module_name(placement.file)}.{_QUALIFIER.sub('', placement.scope)}"
