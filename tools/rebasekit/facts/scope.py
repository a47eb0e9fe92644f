"""A scope as checks see it."""

from __future__ import annotations

from functools import cached_property

from rebasekit.facts.packed import PackedFile
from rebasekit.facts.records import Head, Import, Parameter


class Scope(Head):
    """A module, class or function of a file. What few ask for is unpacked when they do."""

    file: PackedFile
    at: int  # its index in the file

    @classmethod
    def of(cls, file: PackedFile, index: int) -> Scope:
        """The scope at `index` of a file."""
        scope = cls._make(file.heads[index])
        scope.file, scope.at = file, index
        return scope

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        return tuple(map(Parameter._make, self.file.raw_parameters(self.at)))

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        return tuple(map(Import._make, self.raw_imports))

    @property
    def bound(self) -> tuple[str, ...]:
        """Names assigned here; for a class its attributes."""
        return tuple(self.file.bound(self.at).split())

    @property
    def digest(self) -> str:
        """Of the source text of the span."""
        return self.file.digest(self.at)
