"""A fork as a project: its difference imported as a patch, and the commands run on it as a person would."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.backtest.forks import UPSTREAM
from tests.bench import measured

from rebasekit.model.hunk import Series
from rebasekit.model.progress import Progress
from rebasekit.model.tag import Tag
from rebasekit.steps.import_ import Wanted, import_patch
from rebasekit.steps.workspace import Workspace
from rebasekit.upstream.patchfile import FileChange
from rebasekit.upstream.series import SeriesCommit
from rebasekit.upstream.store import Store

SERIES = """\
base     = "{base}"
patches  = []
entries  = ["sglang.launch_server"]

[upstream]
kind    = "{kind}"
package = "{package}"
"""


@dataclass(frozen=True)
class Ran:
    """One command: exit code, seconds, CPU seconds, the largest process's memory, and findings by hunk."""

    code: int
    seconds: float
    cpu: float
    megabytes: float
    findings: dict[str, list[str]] = field(default_factory=dict)


def project(
    folder: Path, cache: Path, store: Store, base: Tag, changes: Sequence[FileChange], progress: Progress
) -> Workspace:
    """Make a project in an empty folder whose series is one patch with all the changes."""
    (folder / "patchset").mkdir(parents=True)
    series = SERIES.format(base=base, kind=UPSTREAM.kind, package=UPSTREAM.package)
    (folder / "patchset" / "series.toml").write_text(series)
    branch = "rebasekit-backtest/fork"
    store.commit_series(base, [SeriesCommit("fork", "fork", {c.path: c.new for c in changes})], branch)
    diff = folder / "fork.diff"
    diff.write_bytes(store.export_diff(base, branch))
    import_patch(Workspace(folder, cache), str(diff), "fork", Wanted(base), progress)
    return Workspace(folder, cache)


def rebased(space: Workspace, tag: Tag) -> Ran:
    """`rebasekit rebase TAG` in a process of its own."""
    report = space.root / "report.json"
    used = measured.rebasekit(
        ["--cache", str(space.cache), "-C", str(space.root), "rebase", tag.name, "--json", str(report)]
    )
    if used.code not in (0, 1, 3):
        raise RuntimeError(f"rebasekit rebase {tag} ended with {used.code}: {used.told}")
    told_by = {
        hunk["id"]: [f"{f['kind']}: {f['message']}" for f in hunk["findings"]]
        for hunk in json.loads(report.read_text())["hunks"]
        if hunk["findings"]
    }
    return Ran(used.code, used.seconds, used.cpu, used.megabytes, told_by)


def series_of(space: Workspace) -> Series:
    return Workspace(space.root, space.cache).series
