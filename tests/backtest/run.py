"""One fork carried to its targets by every tool, and judged."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.backtest import carried, sound, tools, units
from tests.backtest.difference import Sheet, difference
from tests.backtest.forks import UPSTREAM, Fork
from tests.backtest.judge import Judge, Judged, differing
from tests.backtest.nearest import Nearest

from rebasekit.model.progress import Progress
from rebasekit.model.tag import Tag
from rebasekit.upstream.store import Store

PEERS: dict[str, Callable[[tools.Clone], Iterator[tools.Answer]]] = {
    "git rebase": tools.git_rebase,
    "git apply -3": tools.git_apply,
    "GNU patch": tools.gnu_patch,
}


@dataclass(frozen=True)
class Column:
    """One tool's results; `seconds` are wall time of putting the hunks in."""

    tool: str
    judged: tuple[Judged, ...]
    seconds: float


@dataclass(frozen=True)
class Run:
    """One fork to one release. `likeness` is how much of the base's tree the fork has; `ran` is the whole command."""

    fork: Fork
    base: Tag
    target: Tag
    likeness: float
    hunks: int
    files: int
    left_out: dict[str, int]
    ran: carried.Ran
    columns: tuple[Column, ...] = ()

    def column(self, tool: str) -> Column:
        return next(column for column in self.columns if column.tool == tool)

    def unlike(self, tool: str) -> tuple[int, list[str]]:
        """How many hunks rebasekit and another tool both put in, and which of them stand otherwise."""
        one, other = ([j.answer for j in self.column(t).judged if j.answer] for t in ("rebasekit", tool))
        put = [{a.step.hunk for a in answers if a.did is tools.Did.PUT} for answers in (one, other)]
        return len(put[0] & put[1]), differing(one, other)


@dataclass(frozen=True)
class Prepared:
    """A fork as a project, and the releases that it is to be carried to; `his` reads the maintainer's files."""

    space: carried.Workspace
    base: Tag
    targets: tuple[Tag, ...]
    likeness: float
    files: int
    left_out: dict[str, int]
    his: Callable[[str], bytes | None] | None


@contextmanager
def prepared(fork: Fork, cache: Path, progress: Progress, *, most: int = 0) -> Iterator[Prepared]:
    """Find the base, fetch what is needed, and import the difference; `most` files at most, 0 for all."""
    with Store.open(cache, UPSTREAM) as upstream, Store.open(cache, fork.source) as mine:
        mine.ensure(fork.tag, progress)
        releases = upstream.available(progress, pre=True)
        search = Nearest(upstream, mine.files(fork.tag), releases, progress)
        base = search.find()
        at = releases.index(base)
        before = releases[at - 1] if at else None
        sheet, his = None, None
        targets = [tag for tag in releases[at + 1 :] if "rc" not in tag.name][: fork.hops]
        if fork.sheet_tag is not None:
            mine.ensure(fork.sheet_tag, progress)
            target = Nearest(upstream, mine.files(fork.sheet_tag), releases, progress).find()
            sheet, targets, his = Sheet(mine, fork.sheet_tag, target), [target], partial(mine.read, fork.sheet_tag)
        for tag in (base, *([before] if before else []), *targets):
            upstream.ensure(tag, progress)
        found = difference(upstream, base, before, mine, fork.tag, sheet)
        changes = found.changes[:most] if most else found.changes
        with tempfile.TemporaryDirectory(prefix="rebasekit-backtest-") as name:
            space = carried.project(Path(name, "project"), cache, upstream, base, changes, progress)
            left = dict(found.left_out)
            yield Prepared(space, base, tuple(targets), search.seen[base], len(changes), left, his)


def backtest(fork: Fork, cache: Path, progress: Progress, *, most: int = 0) -> Iterator[Run]:
    """Carry a fork to its targets by every tool, and judge them."""
    with prepared(fork, cache, progress, most=most) as it:
        carried.rebased(it.space, it.base)  # as if it had been carried before: facts of the base are known
        for target in it.targets:
            ran = carried.rebased(it.space, target)
            folder = it.space.root.parent / f"clone-{target}"
            columns = tuple(_columns(it.space, it.base, target, ran, it.his, folder, progress))
            hunks = len(carried.series_of(it.space).hunks())
            yield Run(fork, it.base, target, it.likeness, hunks, it.files, it.left_out, ran, columns)


def _columns(
    space: carried.Workspace,
    base: Tag,
    target: Tag,
    ran: carried.Ran,
    his: Callable[[str], bytes | None] | None,
    folder: Path,
    progress: Progress,
) -> Iterator[Column]:
    store, series = space.store, carried.series_of(space)
    written = {step.hunk: step for _, step in units.steps(space, series, base)}
    judge = Judge(written, lambda path: store.read(target, path), his, _names(store, base), _names(store, target))
    branch = "rebasekit-backtest/units"
    store.commit_series(base, units.commits(list(written.values())), branch)
    clone = tools.Clone.of(store, branch, base, target, folder)

    def ours() -> Sequence[tools.Answer]:
        return tools.rebasekit(space, series, target, ran.findings)

    for tool, ask in (("rebasekit", ours), *((n, lambda f=f: list(f(clone))) for n, f in PEERS.items())):
        with progress.task(f"{tool} to {target}"):
            start = time.perf_counter()
            answers = ask()
            seconds = time.perf_counter() - start
            yield Column(tool, tuple(judge.judge(answers)), seconds)


def _names(store: Store, tag: Tag) -> set[str]:
    """Every word of the release's Python files."""
    names: set[str] = set()
    for _, data in store.read_many(blob for path, blob in store.files(tag).items() if path.endswith(".py")):
        names |= sound.identifiers(data)
    return names
