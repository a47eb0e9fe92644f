"""The tools, each given the same hunks one at a time: rebasekit, `git rebase`, `git apply -3` and GNU `patch`.

Each tool takes the next hunk on top of what it did so far. A hunk that it refuses is left out, as a person would
have to say what becomes of it, and the next one is tried.
"""

from __future__ import annotations

import enum
import os
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.backtest.units import Step, steps

from rebasekit.model.hunk import Series
from rebasekit.model.placement import Outcome
from rebasekit.model.tag import Tag
from rebasekit.steps.workspace import Workspace
from rebasekit.upstream.store import Store

IDENTITY = ["-c", "user.name=backtest", "-c", "user.email=backtest@example.invalid", "-c", "advice.mergeConflict=false"]


class Did(enum.Enum):
    """What a tool did with a hunk."""

    PUT = "put in"
    ASKED = "asked a person"
    DROPPED = "said that upstream has it"


@dataclass(frozen=True)
class Answer:
    """A tool's answer for one hunk; `noted` is what it said about a hunk that it put in."""

    did: Did
    step: Step
    noted: str = ""


def rebasekit(space: Workspace, series: Series, tag: Tag, findings: dict[str, list[str]]) -> list[Answer]:
    """`findings` are those of the whole command, by hunk."""
    answers = []
    for placement, step in steps(space, series, tag):
        did = Did.PUT if placement.outcome.applied else Did.ASKED
        did = Did.DROPPED if placement.outcome is Outcome.UPSTREAMED else did
        noted = f"{placement.outcome.value}: {placement.reason}" if placement.outcome.open else ""
        answers.append(Answer(did, step, noted or "; ".join(findings.get(placement.hunk, []))))
    return answers


@dataclass
class Clone:
    """A worktree with the target checked out, one commit per hunk on the branch `series`."""

    folder: Path
    base: str
    target: str

    @classmethod
    def of(cls, store: Store, branch: str, base: Tag, target: Tag, folder: Path) -> Clone:
        store.clone_for_editing(branch, folder, base)
        clone = cls(folder, base.name, target.name)
        clone.git("fetch", "-q", "--no-tags", str(store.git_dir), f"refs/tags/{target}:refs/tags/{target}")
        clone.git("branch", "-f", "series", "HEAD")
        clone.git("tag", "units", "HEAD")
        return clone

    def git(
        self, *args: str, data: bytes | None = None, ok: Iterable[int] = (0,)
    ) -> subprocess.CompletedProcess[bytes]:
        env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")} | {
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_EDITOR": "true",
            "LC_ALL": "C",
        }
        vector = ["git", *IDENTITY, *args]
        done = subprocess.run(vector, cwd=self.folder, env=env, input=data, capture_output=True, check=False)
        if done.returncode not in ok:
            raise RuntimeError(f"git {args[0]} failed: {done.stderr.decode(errors='replace')}")
        return done

    def commits(self, revisions: str) -> list[tuple[str, str]]:
        """Ids and subjects of commits, oldest first."""
        told = self.git("log", "--reverse", "--format=%H %s", revisions).stdout.decode().split("\n")
        return [(line[:40], line[41:]) for line in told if line]

    def diff(self, commit: str) -> bytes:
        return self.git("diff", "--full-index", "--binary", "--no-renames", f"{commit}^", commit).stdout

    def step(self, hunk: str, before: str, after: str) -> Step:
        """What two trees differ in."""
        told = self.git("diff-tree", "-r", "-z", "--no-renames", before, after).stdout.decode().split("\0")
        old, new = {}, {}
        for head, path in zip(told[0::2], told[1::2], strict=False):
            _, _, one, two, _ = head.split(" ")
            old[path], new[path] = self._blob(one), self._blob(two)
        return Step(hunk, old, new)

    def _blob(self, name: str) -> bytes | None:
        return None if set(name) == {"0"} else self.git("cat-file", "blob", name).stdout


def git_rebase(clone: Clone) -> Iterator[Answer]:
    """`git rebase --onto TARGET BASE`; each stop is skipped."""
    clone.git("checkout", "-q", "-f", "series")
    stops = set()
    done = clone.git("rebase", "-q", "--onto", clone.target, clone.base, "series", ok=(0, 1))
    while done.returncode:
        stops.add(clone.git("log", "-1", "--format=%s", "REBASE_HEAD").stdout.decode().strip())
        done = clone.git("rebase", "--skip", ok=(0, 1))
    made = {subject: commit for commit, subject in clone.commits(f"{clone.target}..HEAD")}
    for _, hunk in clone.commits(f"{clone.base}..refs/tags/units"):
        if hunk in made:
            yield Answer(Did.PUT, clone.step(hunk, f"{made[hunk]}^", made[hunk]))
        else:
            yield Answer(Did.ASKED if hunk in stops else Did.DROPPED, Step(hunk))


def git_apply(clone: Clone) -> Iterator[Answer]:
    """`git apply -3` of each commit's diff to the index."""
    clone.git("checkout", "-q", "-f", "--detach", clone.target)
    now = clone.git("write-tree").stdout.decode().strip()
    for commit, hunk in clone.commits(f"{clone.base}..refs/tags/units"):
        done = clone.git("apply", "-3", "--cached", data=clone.diff(commit), ok=(0, 1, 128))
        if done.returncode:
            clone.git("read-tree", now)
            yield Answer(Did.ASKED, Step(hunk))
            continue
        after = clone.git("write-tree").stdout.decode().strip()
        yield Answer(Did.PUT if after != now else Did.DROPPED, clone.step(hunk, now, after))
        now = after


def gnu_patch(clone: Clone) -> Iterator[Answer]:
    """`patch -p1 -N` of each commit's diff, with the fuzz that it allows by itself; fuzz is something that it says."""
    clone.git("checkout", "-q", "-f", "--detach", clone.target)
    for commit, hunk in clone.commits(f"{clone.base}..refs/tags/units"):
        diff = clone.diff(commit)
        paths = clone.git("diff", "--name-only", "-z", f"{commit}^", commit).stdout.decode().split("\0")[:-1]
        before = {path: _read(clone.folder / path) for path in paths}
        vector = ["patch", "-p1", "-N", "--batch", "-r", "-", "--no-backup-if-mismatch", "--verbose"]
        done = subprocess.run(vector, cwd=clone.folder, input=diff, capture_output=True, check=False)
        if done.returncode:
            for path, data in before.items():
                _write(clone.folder / path, data)
            yield Answer(Did.ASKED, Step(hunk))
            continue
        after = {path: _read(clone.folder / path) for path in paths}
        fuzz = next((line.strip() for line in done.stdout.decode().split("\n") if "fuzz" in line), "")
        yield Answer(Did.PUT if after != before else Did.DROPPED, Step(hunk, before, after), fuzz)


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _write(path: Path, data: bytes | None) -> None:
    if data is None:
        path.unlink(missing_ok=True)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
