"""Classes of a tree: bases, subclasses, method lookup order."""

from __future__ import annotations

from rebasekit.facts.program import Program
from rebasekit.facts.records import CLASS, Ref
from rebasekit.facts.resolve import Resolver

# Of one class: its bases, and those of them that are not in the tree, as written.
Links = tuple[tuple[int, ...], tuple[str, ...]]


class Hierarchy:
    """Links between classes by scope id."""

    def __init__(self, links: dict[int, Links], children: dict[int, list[int]] | None = None) -> None:
        self.links = links
        self.children = _children(links) if children is None else children
        self._orders: dict[int, tuple[int, ...]] = {}
        self._below: dict[int, list[int]] = {}

    def bases(self, class_id: int) -> tuple[int, ...]:
        """Direct bases that are in the tree; none of what is no class."""
        return self.links[class_id][0] if class_id in self.links else ()

    def outside(self, class_id: int) -> tuple[str, ...]:
        """Direct bases that are not, as written."""
        return self.links[class_id][1] if class_id in self.links else ()

    def order(self, class_id: int) -> tuple[int, ...]:
        """Python's method resolution order, without classes from outside the tree."""
        found = self._orders.get(class_id)
        if found is None:
            self._orders[class_id] = (class_id,)  # a cycle cannot happen in code that runs; do not hang on one
            found = self._orders[class_id] = self._merge(class_id)
        return found

    def _merge(self, class_id: int) -> tuple[int, ...]:
        bases = self.bases(class_id)
        if len(bases) <= 1:
            return (class_id, *(self.order(bases[0]) if bases else ()))
        queues = [list(self.order(base)) for base in bases] + [list(bases)]
        merged = [class_id]
        while queues := [queue for queue in queues if queue]:
            heads = (queue[0] for queue in queues)
            tails = {name for queue in queues for name in queue[1:]}
            chosen = next((head for head in heads if head not in tails), queues[0][0])
            merged.append(chosen)
            queues = [[name for name in queue if name != chosen] for queue in queues]
        return tuple(dict.fromkeys(merged))

    def subclasses(self, class_id: int) -> list[int]:
        """All classes below, nearest first."""
        known = self._below.get(class_id)
        if known is None:
            known = self._below[class_id] = self._find_below(class_id)
        return known

    def _find_below(self, class_id: int) -> list[int]:
        found: dict[int, None] = {}
        queue = list(self.children.get(class_id, ()))
        while queue:
            current = queue.pop(0)
            if current not in found and current != class_id:
                found[current] = None
                queue.extend(self.children.get(current, ()))
        return list(found)

    def external(self, class_id: int) -> set[str]:
        """Bases outside the tree, anywhere above."""
        return {name for c in self.order(class_id) for name in self.outside(c)}

    def is_enum(self, class_id: int) -> bool:
        """Whether the class body itself makes instances."""
        return any(name.endswith(("Enum", "Flag")) for name in self.external(class_id))


def _children(links: dict[int, Links]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for class_id, (bases, _outside) in links.items():
        for base in bases:
            found.setdefault(base, []).append(class_id)
    return found


def link_classes(program: Program, resolver: Resolver) -> Hierarchy:
    """Resolve every class's bases."""
    links: dict[int, Links] = {}
    for index in range(len(program.paths)):
        file = program.file(index)
        for local, head in enumerate(file.heads):
            if head[0] == CLASS:
                start = program.first[index]
                bases: list[int] = []
                external: list[str] = []
                for ref in head[7]:
                    text = base_chain(ref)
                    found = resolver.classes(start + head[2], text) if text else []
                    bases.extend(found)
                    if not found:
                        external.append(text or "?")
                links[start + local] = (tuple(dict.fromkeys(bases)), tuple(external))
    return Hierarchy(links)


def base_chain(ref: Ref) -> str | None:
    """`Generic[T]` is a base named Generic."""
    while isinstance(ref, tuple) and ref and ref[0] == "s":
        ref = ref[1]
    return ref if isinstance(ref, str) else None
