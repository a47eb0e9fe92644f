"""Build a release with the series, install it where nothing else is, and prove what was installed."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from rebasekit.errors import StateError
from rebasekit.model.progress import SILENT, Progress
from rebasekit.model.tag import Tag
from rebasekit.steps import build_env, build_tests
from rebasekit.steps.build_env import Environment
from rebasekit.steps.build_imports import Imported, import_modules
from rebasekit.steps.build_proof import Wheel, base_of, make_wheel, prove, working
from rebasekit.steps.build_tests import PatchTests
from rebasekit.steps.install import Installation, verify
from rebasekit.steps.workspace import Workspace

_T = TypeVar("_T")


@dataclass(frozen=True)
class Built:
    """Everything that a build found. `seconds` are per step."""

    wheel: Wheel
    environment: Environment | None = None
    installation: Installation | None = None
    imports: tuple[Imported, ...] = ()
    tests: tuple[PatchTests, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        wrong = self.installation.findings if self.installation else ()
        return not wrong and not any(i.error for i in self.imports) and all(t.ok for t in self.tests)


def build(space: Workspace, tag: Tag, out: Path, *, tests: bool = True, progress: Progress = SILENT) -> Built:
    """Wheel, fresh environment, verification, an import of every patched module, and the patches' tests."""
    _check_python(space)
    with working(space, tag, f"builds {tag}", progress) as folder:
        return _build(space, tag, out, folder, tests, progress)


def _build(space: Workspace, tag: Tag, out: Path, folder: Path, tests: bool, progress: Progress) -> Built:
    seconds: dict[str, float] = {}

    def timed(step: str, work: Callable[[], _T]) -> _T:
        start = time.perf_counter()
        try:
            return work()
        finally:
            seconds[step] = time.perf_counter() - start

    proof = timed("place", lambda: prove(space, tag, progress))
    wheel = timed("wheel", lambda: make_wheel(space, proof, out, progress))
    below = timed("packages", lambda: base_of(space, proof, progress))
    environment = timed("install", lambda: build_env.fresh(folder / "patched", below, wheel.path, progress))
    found = timed("verify", lambda: check(environment, wheel))
    if found.findings:  # what would be imported and tested is something else
        return Built(wheel, environment, found, seconds=seconds)
    modules = timed("imports", lambda: import_modules(environment, wheel.content, folder, progress))
    tested: tuple[PatchTests, ...] = ()
    if tests:
        pristine = build_tests.unpack(proof.upstream, folder / "pristine-tree")
        tree = _linked(folder / "installed", environment.site)
        with progress.task(f"the patches' tests on {tag}"):
            tested = timed("tests", lambda: build_tests.run_tests(space, environment, tree, pristine, folder))
    return Built(wheel, environment, found, modules, tested, seconds)


def test_trees(space: Workspace, tag: Tag, progress: Progress = SILENT) -> Built:
    """The patches' tests on unpacked trees, without an installation: the quick answer for many releases."""
    _check_python(space)
    with working(space, tag, f"tests {tag}", progress) as folder:
        return _test_trees(space, tag, folder, progress)


def _test_trees(space: Workspace, tag: Tag, folder: Path, progress: Progress) -> Built:
    start = time.perf_counter()
    proof = prove(space, tag, progress)
    wheel = make_wheel(space, proof, folder, progress)
    below = base_of(space, proof, progress)
    patched = build_tests.unpack(wheel.path, folder / "patched-tree")
    pristine = build_tests.unpack(proof.upstream, folder / "pristine-tree")
    middle = time.perf_counter()
    with progress.task(f"the patches' tests on {tag}"):
        tested = build_tests.run_tests(space, below, patched, pristine, folder)
    seconds = {"prepare": middle - start, "tests": time.perf_counter() - middle}
    return Built(wheel, below, tests=tested, seconds=seconds)


def _check_python(space: Workspace) -> None:
    """Refuse to prove something on a Python that the deployment does not run."""
    running = ".".join(map(str, sys.version_info[:3]))
    if not space.series.runs(running):
        wanted = space.series.requires_python
        message = f"the deployment runs Python `{wanted}` (`requires-python` of series.toml), this is {running}"
        raise StateError(message, hint="python3 -m venv DIR, with a Python in that range")


def _linked(link: Path, target: Path) -> Path:
    """The installation under a name that is not on the path yet: the tests put their tree there themselves."""
    link.unlink(missing_ok=True)
    link.symlink_to(target)
    return link


def check(environment: Environment, wheel: Wheel) -> Installation:
    """Verify with the environment that serving starts with."""
    return verify(environment.python, wheel.content, environ=build_env.clean_environ())
