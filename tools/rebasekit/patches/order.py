"""The order of a series against what its patches depend on."""

from __future__ import annotations

from rebasekit.model.hunk import Patch
from rebasekit.patches.problems import Problems, short


def check_order(patchset: str, names: tuple[str, ...], patches: tuple[Patch, ...], problems: Problems) -> None:
    """Report dependencies that are unknown, go round in a circle, or come later in the series."""
    depends = {patch.name: patch.depends for patch in patches}
    position = {name: number for number, name in enumerate(names)}
    circles = _circles(depends)
    for circle in circles:
        problems.add(f"{patchset}/{circle[0]}/patch.toml: depends", f"goes round in a circle: {' → '.join(circle)}")
    in_circle = {name for circle in circles for name in circle}
    for patch in patches:
        where = f"{patchset}/{patch.name}/patch.toml: depends"
        for other in patch.depends:
            if other not in position:
                problems.add(where, f"{short(other)} is not in the series")
            elif position[other] > position[patch.name] and not {patch.name, other} <= in_circle:
                problems.add(where, f"`{other}` comes after `{patch.name}` in `{patchset}/series.toml`")


def _circles(depends: dict[str, tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Each circle once, written from its first member back to it. Iterative: a series may be long."""
    found: list[tuple[str, ...]] = []
    done: set[str] = set()
    for start in depends:
        trail: list[str] = []
        work: list[tuple[str, bool]] = [(start, False)]
        while work:
            name, leaving = work.pop()
            if leaving:
                trail.pop()
                done.add(name)
            elif name in trail:
                found.append((*trail[trail.index(name) :], name))
            elif name not in done and name in depends:
                trail.append(name)
                work.append((name, True))
                work.extend((other, False) for other in reversed(depends[name]) if other != name)
    return found
