"""The patches' own tests, on the real classes of one release: `patchset/*/tests`, a process per patch."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree  # our own pytest writes the file

from rebasekit.probes.process import run
from rebasekit.steps.build_env import Environment, clean_environ
from rebasekit.steps.workspace import Workspace

_LIMIT = 1200.0
_READY = ".rebasekit-ready"


@dataclass(frozen=True)
class PatchTests:
    """One patch's tests on one release: counts by word, the names of those that failed, seconds and memory."""

    patch: str
    counts: Counter[str]
    failed: tuple[str, ...]
    seconds: float
    memory: int
    log: Path

    @property
    def ok(self) -> bool:
        return bool(self.counts["passed"]) and not self.failed


def unpack(wheel: Path, folder: Path) -> Path:
    """The wheel's files below `folder`, compiled ones included; kept when it is the same wheel."""
    stamp = folder / _READY
    said = f"{wheel.name} {wheel.stat().st_size} {wheel.stat().st_mtime_ns}"
    if stamp.is_file() and stamp.read_text() == said:
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with zipfile.ZipFile(wheel) as archive:  # written by us, or checked by the store when it was fetched
        archive.extractall(folder)
    stamp.write_text(said)
    return folder


def run_tests(
    space: Workspace, environment: Environment, patched: Path, pristine: Path, logs: Path
) -> tuple[PatchTests, ...]:
    """Run every patch's tests with this environment's Python against the two trees."""
    found = []
    for patch in space.series.patches:
        folder = space.patchset / patch.name / "tests"
        if folder.is_dir():
            found.append(_run(patch.name, folder, environment, patched, pristine, logs))
    return tuple(found)


def _run(patch: str, folder: Path, environment: Environment, patched: Path, pristine: Path, logs: Path) -> PatchTests:
    report, log = logs / f"tests-{patch}.xml", logs / f"tests-{patch}.log"
    report.unlink(missing_ok=True)
    environ = clean_environ(
        {
            "REBASEKIT_PATCHED_TREE": str(patched),
            "REBASEKIT_PRISTINE_TREE": str(pristine),
            "PYTHONDONTWRITEBYTECODE": "1",  # the folder is the project's
            "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
        }
    )
    argv = [str(environment.python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore", "-rs"]
    # The project's pytest settings are not the patch's: its tests run where rebasekit is not installed.
    done = run(
        [*argv, "-c", os.devnull, f"--rootdir={folder}", f"--junitxml={report}", str(folder)],
        environ,
        folder,
        log,
        _LIMIT,
    )
    counts, failed = _read(report)
    if done.code is None:
        failed += (f"ended at its limit of {_LIMIT:.0f} s",)
    elif done.code != 0 and not failed:
        failed += (f"pytest ended with {done.code}",)
    return PatchTests(patch, counts, failed, done.seconds, done.memory, log)


def _read(report: Path) -> tuple[Counter[str], tuple[str, ...]]:
    counts: Counter[str] = Counter()
    failed: list[str] = []
    if not report.is_file():
        return counts, ()
    for case in ElementTree.parse(report).iter("testcase"):  # noqa: S314  see the import
        word = next((w for w in ("failure", "error", "skipped") if case.find(w) is not None), "passed")
        counts[word] += 1
        if word in ("failure", "error"):
            failed.append(f"{case.get('classname', '').rpartition('.')[2]}::{case.get('name')}")
    return counts, tuple(failed)
