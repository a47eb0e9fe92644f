"""The series on a release as facts: what `survive` and `defaults` compare."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rebasekit.console import Console
    from rebasekit.model.tag import Tag
    from rebasekit.steps.patched import Patched
    from rebasekit.steps.workspace import Workspace


def patched(space: Workspace, tag: Tag, console: Console) -> Patched:
    """Place the series on a release and read the result; files that did not change are read once for all releases."""
    from rebasekit.facts.lazy import lazy_facts
    from rebasekit.steps.patched import Patched, patched_tree, settings_of
    from rebasekit.steps.rebase import carry

    verdict = carry(space, tag, progress=console).verdict
    with console.task(f"reading {tag}", unit="files") as task:
        done = 0

        def progress(count: int, _total: int) -> None:
            nonlocal done
            task.advance(count - done)
            done = count

        facts = lazy_facts(space.cache / "facts", patched_tree(space, verdict), settings_of(space), progress)
    return Patched(tag, facts, verdict.tree, {p.name: p for p in verdict.placements})


def newest(space: Workspace) -> Tag:
    """The release to look at when none is named: the newest one that is stored, else the series' base."""
    return max([*space.store.tags(), space.series.base])
