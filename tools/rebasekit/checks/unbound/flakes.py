"""What pyflakes finds in a file, without the places that no run ever reads."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from rebasekit.errors import StateError

if TYPE_CHECKING:
    from types import ModuleType


class Flake(NamedTuple):
    """A name that pyflakes misses: `star` when a star import may bring it, `export` when `__all__` names it."""

    name: str
    line: int
    column: int
    star: bool
    export: bool
    early: bool


def pyflakes() -> tuple[ModuleType, ModuleType]:
    """The library's checker and messages; raise StateError when it is not there, for that is no pass."""
    try:
        from pyflakes import checker, messages  # type: ignore[import-untyped]
    except ImportError:
        import sys

        message = "the package `pyflakes` is not installed for this Python, so no name was checked"
        raise StateError(message, hint=f"{sys.executable} -m pip install pyflakes") from None
    return checker, messages


def flakes(tree: ast.Module, path: str, evaluated: set[tuple[int, int]]) -> list[Flake]:
    """Names that pyflakes does not find bound.

    `evaluated` are the positions of reads that happen at run time: pyflakes also reads string annotations, `Literal`
    choices and annotations that `from __future__ import annotations` puts off, which is 300 to 600 lines of noise on
    a large tree. A name inside a string has the string's position, so it cannot be mistaken for a read. `path` counts:
    the `__all__` of an `__init__.py` may name submodules, and pyflakes leaves it alone.
    """
    checker, messages = pyflakes()
    found = []
    for message in checker.Checker(tree, filename=path).messages:
        export = isinstance(message, messages.UndefinedExport)
        star = isinstance(message, messages.ImportStarUsage)
        early = isinstance(message, messages.UndefinedLocal)
        if export or (
            (star or early or isinstance(message, messages.UndefinedName))
            and (message.lineno, message.col) in evaluated
        ):
            name = str(message.message_args[0])
            found.append(Flake(name, message.lineno, message.col, star, export, early))
    return found
