"""Class hierarchies across files: what an instance may have, and which classes build on one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from rebasekit.checks.unbound.classes import ALWAYS, Class, builtin, classes
from rebasekit.checks.unbound.tree import World, absolute
from rebasekit.facts.syntax import dotted

# Bases that add nothing to an instance.
_EMPTY = {"object", "ABC", "abc.ABC", "Generic", "typing.Generic", "Protocol", "typing.Protocol"}
_DEEP = 40  # no hierarchy is deeper; a cycle by re-exports is

Key = tuple[str, str]  # path, qualified name


@dataclass
class Hierarchy:
    """Classes of a tree, read when asked for."""

    world: World
    _classes: dict[str, dict[str, list[Class]]] = field(default_factory=dict)
    _lines: dict[Key, tuple[frozenset[Key], frozenset[str], bool]] = field(default_factory=dict)

    def of(self, path: str) -> dict[str, list[Class]]:
        """The classes of a file by qualified name: several when branches define one each."""
        if path not in self._classes:
            tree, found = self.world.module(path), {}  # type: ignore[var-annotated]
            for name, node in classes(tree) if tree is not None else ():
                found.setdefault(name, []).append(Class(name, node))
            self._classes[path] = found
        return self._classes[path]

    def line(self, key: Key, depth: int = 0) -> tuple[frozenset[Key], frozenset[str], bool]:
        """The class and all that it inherits from, the attributes that they give, and whether there may be more."""
        if key in self._lines:
            return self._lines[key]
        path, name = key
        found = self.of(path).get(name, [])
        keys, given, more = {key}, set(ALWAYS), not found or depth > _DEEP
        for one in found if depth <= _DEEP else ():
            given |= one.text.given
            more = more or one.text.open
            for base in one.node.bases:
                base = base.value if isinstance(base, ast.Subscript) else base
                text = dotted(base)
                if text in _EMPTY:
                    continue
                targets = self.resolve(path, text, name) - {key} if text else set()
                if targets:
                    for target in targets:
                        above = self.line(target, depth + 1) if target is not None else (set(), set(), True)
                        keys |= above[0]
                        given |= above[1]
                        more = more or above[2]
                elif text and "." not in text and not targets and (own := builtin(text)) is not None:
                    given |= own
                else:
                    more = True
        self._lines[key] = frozenset(keys), frozenset(given), more
        return self._lines[key]

    def resolve(self, path: str, text: str, within: str = "", depth: int = 0) -> set[Key | None]:
        """The classes that a dotted name can mean in a file; with None among them when it may leave the tree."""
        known = self.of(path)
        outer = within.rpartition(".")[0]
        names = [name for name in dict.fromkeys((f"{outer}.{text}" if outer else text, text)) if name in known]
        found: set[Key | None] = {(path, name) for name in names[:1]}
        tree = self.world.module(path)
        if tree is None or depth > _DEEP:
            return {None}
        head, _, rest = text.partition(".")
        reading = self.world.reading(path)
        for node in reading.imports if reading is not None else ():
            found.update(*self._imported(path, node, head, rest, depth))
        return found

    def _imported(
        self, path: str, node: ast.Import | ast.ImportFrom, head: str, rest: str, depth: int
    ) -> Iterator[set[Key | None]]:
        """What an import statement makes of a name."""
        if isinstance(node, ast.ImportFrom):
            base = absolute(path, node.module or "", node.level)
            for alias in node.names:
                if (alias.asname or alias.name) != head:
                    continue
                module = self.world.path_of(f"{base}.{alias.name}") if rest else None
                if module is not None:
                    yield self.resolve(module, rest, "", depth + 1)
                    continue
                source = self.world.path_of(base)
                text = f"{alias.name}.{rest}" if rest else alias.name
                yield self.resolve(source, text, "", depth + 1) if source else {None}
        elif isinstance(node, ast.Import) and rest:
            for alias in node.names:
                written = alias.asname or alias.name
                if f"{head}.{rest}".startswith(f"{written}."):
                    source = self.world.path_of(alias.name)
                    text = f"{head}.{rest}".removeprefix(f"{written}.")
                    yield self.resolve(source, text, "", depth + 1) if source else {None}

    def below(self, key: Key) -> set[Key]:
        """Every class of the tree that inherits from the class."""
        found: set[Key] = set()
        todo = [key]
        while todo and len(found) < 500:
            parent = todo.pop()
            short = parent[1].rpartition(".")[2]
            # As a base, or under another name: parsing every file that mentions the class would take seconds.
            shape = re.compile(rb"class\s+\w+\s*\([^)]*\b%b\b|\b%b\s+as\b" % ((re.escape(short.encode()),) * 2))
            for path in self.world.holding(short):
                if not shape.search(self.world.data(path) or b""):
                    continue
                for name, twins in self.of(path).items():
                    bases = {
                        dotted(b.value if isinstance(b, ast.Subscript) else b) for one in twins for b in one.node.bases
                    }
                    texts = [text for text in bases if text]
                    if (path, name) not in found and any(parent in self.resolve(path, text, name) for text in texts):
                        found.add((path, name))
                        todo.append((path, name))
        return found
