"""Module-level names that stand for something elsewhere and import it when they are first used.

`Engine = LazyImport("pkg.engine", "Engine")` is `from pkg.engine import Engine`, put off until somebody uses the name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rebasekit.facts.file import FileFacts
from rebasekit.facts.records import CLASS, FUNCTION, Ref

if TYPE_CHECKING:
    from rebasekit.facts.resolve import Resolver

_IMPORTS = ("import_module", "__import__")


class Deferred:
    """Answers per file; remembers what it found. Its resolver holds it, not the other way: nobody collects cycles."""

    def __init__(self) -> None:
        self._known: dict[int, dict[str, str]] = {}
        self._importers: dict[int, bool] = {}

    def of(self, file: FileFacts, resolver: Resolver) -> dict[str, str]:
        """Names of the module, with the dotted name of what each stands for."""
        found = self._known.get(file.index)
        if found is None:
            self._known[file.index] = {}  # asking what the callee is must not end here again
            with file.glance():
                found = self._known[file.index] = self._find(file, resolver) if len(file) else {}
        return found

    def strings(self, file: FileFacts, resolver: Resolver) -> set[str]:
        """The strings that name them, as the module reads them."""
        names = self.of(file, resolver).values()
        return {f"'{text}" for name in names for text in (name, name.rpartition(".")[0])}

    def _find(self, file: FileFacts, resolver: Resolver) -> dict[str, str]:
        if not any(load[0] == "'" for load in file.reads(0)[0]):
            return {}
        calls: dict[tuple[int, str], str] = {}
        for call in file.raw_acts(0)[0]:
            if isinstance(call[2], str) and not call[4] and (dotted := _two_strings(call[3])) is not None:
                calls[call[0], call[2]] = dotted
        found = {}
        for name, assigns in file.globals.items() if calls else ():
            if len(assigns) == 1 and isinstance(assigns[0][3], tuple) and assigns[0][3][0] == "r":
                dotted = calls.get((assigns[0][0], assigns[0][3][1]))
                if dotted is not None and self._imports(file, assigns[0][3][1], resolver):
                    found[name] = dotted
        return found

    def _imports(self, file: FileFacts, callee: str, resolver: Resolver) -> bool:
        """Whether what is called imports modules by itself."""
        start = resolver.program.first[file.index]
        return any(
            self._importer(entity.scope, resolver)
            for entity in resolver.chain(start, callee)
            if entity.kind == "definition" and not entity.rest
        )

    def _importer(self, scope: int, resolver: Resolver) -> bool:
        known = self._importers.get(scope)
        if known is None:
            index, local = resolver.program.locate(scope)
            file = resolver.program.file(index)
            within = [local]
            if file.heads[local][0] == CLASS:
                below = file.children.get(local, {}).values()
                within = [child for children in below for child in children if file.heads[child][0] == FUNCTION]
            known = any(load.endswith(_IMPORTS) for child in within for load in file.reads(child)[0])
            self._importers[scope] = known
        return known


def _two_strings(args: tuple[Ref, ...]) -> str | None:
    """`pkg.mod.Name` of the arguments "pkg.mod" and "Name"."""
    if len(args) != 2:
        return None
    texts = [ref[1] for ref in args if isinstance(ref, tuple) and ref[0] == "v" and isinstance(ref[1], str)]
    if len(texts) != 2 or "." not in texts[0] or not texts[1].isidentifier():
        return None
    return ".".join(texts)
