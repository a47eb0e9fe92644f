"""The shipped series from its base to every later release, by rebasekit and by `git rebase`, in one run.

Both start from what a person wrote for the base release: later forms and decisions of the series are taken away.
git gets one commit per hunk, so that a stop is a hunk; each stop is skipped and counted.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from rebasekit.model.hunk import Series
from rebasekit.model.tag import Tag
from rebasekit.patches.mapped import mapped_tags
from rebasekit.steps.rebase import carry
from rebasekit.steps.workspace import Workspace
from rebasekit.upstream.cache import cache_dir
from rebasekit.upstream.series import SeriesCommit

ROOT = Path(__file__).resolve().parents[2]


def run(cache: Path | None) -> None:
    space = Workspace(ROOT, cache or cache_dir())
    tags = [tag for tag in mapped_tags(ROOT) if tag > space.series.base]
    space.ensure({space.series.base, *tags})
    first = as_written(space.series)
    table = Table(title=f"{len(first.hunks())} hunks from {space.series.base}, first carry")
    for name in ("to", "rebasekit s", "git rebase s", "rebasekit: for a person", "git rebase: stops"):
        table.add_column(name, justify="right")
    for tag in tags:
        ours, mine = carried(tag, first, cache)
        git, stops = git_rebase(space, first, tag)
        table.add_row(tag.name, f"{ours:.2f}", f"{git:.2f}", str(len(mine)), str(len(stops)))
        table.add_row("", "", "", "\n".join(mine), "\n".join(stops), end_section=True)
    Console().print(table)
    print("rebasekit: placed and proved in this process, releases stored; git: one commit per hunk, nothing proved")
    cold_and_warm(tags[0], cache)


def as_written(series: Series) -> Series:
    """The series as it was for the base release: one form per hunk, no pins."""
    patches = []
    for patch in series.patches:
        hunks = []
        for hunk in patch.hunks:
            selected = hunk.form_for(series.base)
            if selected:
                hunks.append(replace(hunk, forms=(replace(selected[1], pin=None, tags=None),)))
        patches.append(replace(patch, hunks=tuple(hunks)))
    return replace(series, patches=tuple(patches))


def carried(tag: Tag, series: Series, cache: Path | None) -> tuple[float, list[str]]:
    """Seconds in this process with fresh objects, and the hunks that have no place."""
    space = Workspace(ROOT, cache or cache_dir())
    start = time.perf_counter()
    verdict = carry(space, tag, series=series).verdict
    seconds = time.perf_counter() - start
    return seconds, [f"{p.hunk} ({p.outcome.value})" for p in verdict.placements if p.outcome.open]


def git_rebase(space: Workspace, series: Series, tag: Tag) -> tuple[float, list[str]]:
    """Seconds of `git rebase` over one commit per hunk, and the hunks it stopped on."""
    base = series.base
    commits, before = [], {}
    for count, hunk in enumerate(series.hunks(), 1):
        part = first_hunks(series, count)
        tree = carry(space, base, series=part).outcomes.tree.bytes()
        changed = {path: data for path, data in tree.items() if before.get(path) != data}
        commits.append(SeriesCommit(hunk.id, hunk.id, changed))
        before = tree
    space.store.commit_series(base, commits, "rebasekit-bench/series")
    with tempfile.TemporaryDirectory() as name:
        clone = Path(name, "clone")
        space.store.clone_for_editing("rebasekit-bench/series", clone, base)
        git(clone, "fetch", "-q", "--no-tags", str(space.store.git_dir), f"refs/tags/{tag}:refs/tags/{tag}")
        start = time.perf_counter()
        stops = []
        done = git(clone, "rebase", "--onto", tag.name, base.name, "HEAD", ok=(0, 1))
        while done.returncode:
            stops.append(git(clone, "log", "-1", "--format=%s", "REBASE_HEAD").stdout.strip())
            done = git(clone, "rebase", "--skip", ok=(0, 1))
        return time.perf_counter() - start, stops


def first_hunks(series: Series, count: int) -> Series:
    patches, left = [], count
    for patch in series.patches:
        patches.append(replace(patch, hunks=patch.hunks[: max(left, 0)]))
        left -= len(patch.hunks)
    return replace(series, patches=tuple(patches))


def git(clone: Path, *args: str, ok: tuple[int, ...] = (0,)) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")} | {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_EDITOR": "true",
    }
    identity = ["-c", "user.name=bench", "-c", "user.email=bench@example.invalid", "-c", "advice.mergeConflict=false"]
    done = subprocess.run(["git", *identity, *args], cwd=clone, env=env, capture_output=True, text=True, check=False)
    if done.returncode not in ok:
        raise SystemExit(f"git {args[0]} failed: {done.stderr}")
    return done


def cold_and_warm(tag: Tag, cache: Path | None) -> None:
    """The whole command in a process of its own: with kept wheels and no store, then with everything stored."""
    with tempfile.TemporaryDirectory() as name:
        fresh = Path(name)
        space = Workspace(ROOT, cache or cache_dir())
        wheels = fresh / space.store.root.relative_to(cache or cache_dir()) / "wheels"
        wheels.mkdir(parents=True)
        for each in {space.series.base, tag}:
            wheel = space.store.wheel(each)
            shutil.copyfile(wheel, wheels / wheel.name)
        for word in ("cold (downloaded, nothing stored)", "warm"):
            start = time.perf_counter()
            done = subprocess.run(
                ["rebasekit", "--cache", str(fresh), "-C", str(ROOT), "rebase", tag.name, "--json", os.devnull],
                capture_output=True,
                text=True,
                check=False,
            )
            print(f"rebasekit rebase {tag}, {word}: {time.perf_counter() - start:.1f} s, exit {done.returncode}")
