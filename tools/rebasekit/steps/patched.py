"""A release with the series on it, as facts: what the checks look at."""

from __future__ import annotations

from dataclasses import dataclass

from rebasekit.facts.query import Facts, open_facts, stepper
from rebasekit.facts.settings import Settings
from rebasekit.facts.source import ListingTree, OverlayTree
from rebasekit.model.placement import Placement
from rebasekit.model.progress import SILENT, Progress
from rebasekit.model.tag import Tag
from rebasekit.model.verdict import Verdict
from rebasekit.steps.workspace import Workspace


@dataclass(frozen=True)
class Patched:
    """`tree` holds the changed files, `placements` the hunks by `patch/id`; `facts` are of the whole patched tree."""

    tag: Tag
    facts: Facts
    tree: dict[str, bytes | None]
    placements: dict[str, Placement]


def patched_tree(space: Workspace, verdict: Verdict) -> OverlayTree:
    """The release's files with those of the verdict over them."""
    store, tag = space.store, verdict.tag
    return OverlayTree(ListingTree(store.commit(tag), lambda: store.files(tag), store.read_many), verdict.tree)


def settings_of(space: Workspace) -> Settings:
    """What reading a tree has to be told: the series' entry points."""
    return Settings(entries=space.series.entries)


def read_patched(space: Workspace, verdict: Verdict, progress: Progress = SILENT) -> Patched:
    """Facts of the tree that a verdict is about; files that did not change are read once for all releases."""
    tag = verdict.tag
    with progress.task(f"reading {tag}", unit="files") as task:
        facts = open_facts(space.cache / "facts", patched_tree(space, verdict), settings_of(space), stepper(task))
    return Patched(tag, facts, verdict.tree, {p.name: p for p in verdict.placements})
