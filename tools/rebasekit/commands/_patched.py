"""The series on a release as facts: what `survive` and `defaults` compare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rebasekit.facts.query import Facts
from rebasekit.model.placement import Placement
from rebasekit.model.tag import Tag

if TYPE_CHECKING:
    from rebasekit.console import Console
    from rebasekit.steps.workspace import Workspace


@dataclass(frozen=True)
class Patched:
    """A release with the series on it. `tree` holds the changed files, `placements` the hunks by name."""

    tag: Tag
    facts: Facts
    tree: dict[str, bytes | None]
    placements: dict[str, Placement]


def patched(space: Workspace, tag: Tag, console: Console) -> Patched:
    """Place the series on a release and read the result; files that did not change are read once for all releases."""
    from rebasekit.checks.survive.lazy import lazy_facts
    from rebasekit.facts.settings import Settings
    from rebasekit.facts.source import ListingTree, OverlayTree
    from rebasekit.steps.rebase import carry

    verdict = carry(space, tag, progress=console).verdict
    store = space.store
    base = ListingTree(store.commit(tag), lambda: store.files(tag), store.read_many)
    settings = Settings(entries=space.series.entries)
    with console.task(f"reading {tag}", unit="files") as task:
        done = 0

        def progress(count: int, _total: int) -> None:
            nonlocal done
            task.advance(count - done)
            done = count

        facts = lazy_facts(space.cache / "facts", OverlayTree(base, verdict.tree), settings, progress)
    return Patched(tag, facts, verdict.tree, {p.name: p for p in verdict.placements})


def newest(space: Workspace) -> Tag:
    """The release to look at when none is named: the newest one that is stored, else the series' base."""
    return max([*space.store.tags(), space.series.base])
