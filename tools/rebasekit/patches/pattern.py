"""A first look at `at`: whether it can be Python with wildcards at all.

The matcher (`rebasekit.edit`) has the last word; its own parser can be passed to the loaders instead.
"""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from collections.abc import Callable

PatternCheck = Callable[[str], object]  # raises ValueError when the text is not a pattern

_REST = re.compile(r"([(,{\[]\s*)\.\.\.(?=\s*[,)}\]])")


def check_pattern(text: str) -> None:
    """Raise ValueError unless `text` is one Python statement once `$NAME` and `...` stand for something."""
    if len(text) > 4000:
        raise ValueError("is longer than 4000 characters")
    plain = re.sub(r"\$([A-Za-z_])", r"_\1", textwrap.dedent(text).strip("\n"))
    plain = re.sub(r"\Aelif\b", "if", plain)
    # `...` is an expression; where Python wants a parameter, a keyword argument or a pair, a starred name fits.
    tries = (plain, _REST.sub(r"\1*_", plain), _REST.sub(r"\1**_", plain))
    reason = ""
    for source in tries:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                statements = ast.parse(source).body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            reason = reason or (error.msg if isinstance(error, SyntaxError) else str(error)) or "too deeply nested"
            continue
        if len(statements) != 1:
            raise ValueError(f"is {len(statements)} statements; a pattern is one")
        return
    raise ValueError(f"is not Python with `$NAME` and `...`: {reason}")
