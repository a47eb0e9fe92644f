"""Where a smoke serves from: an environment of our own, or one that somebody prepared."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rebasekit.errors import StateError
from rebasekit.model.progress import Progress
from rebasekit.steps import build_env
from rebasekit.steps.build_content import Content, content
from rebasekit.steps.build_env import Environment, clean_environ
from rebasekit.steps.build_proof import Proof, base_of, make_wheel, work_folder
from rebasekit.steps.install import Wrong, verify
from rebasekit.steps.smoke.result import StepResult
from rebasekit.steps.workspace import Workspace

_SHOWN = ("torch", "triton", "transformers", "sglang-kernel", "sglang")
_VERSIONS = """\
import importlib.metadata, json, sys
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Ground:
    """An interpreter, the folder that the package lies in, and what has to be on PYTHONPATH for it."""

    python: Path
    root: Path
    paths: tuple[Path, ...] = ()

    def environ(self) -> dict[str, str]:
        """Our environment, cleaned, with the paths."""
        return clean_environ({"PYTHONPATH": os.pathsep.join(map(str, self.paths))} if self.paths else {})

    def versions(self) -> dict[str, str]:
        """Versions of the packages that decide the answers, as the interpreter finds them."""
        argv = [str(self.python), "-c", _VERSIONS, *_SHOWN]
        done = subprocess.run(argv, env=self.environ(), capture_output=True, text=True, check=False)
        found: dict[str, str] = json.loads(done.stdout) if done.returncode == 0 else {}
        return found


def own(
    space: Workspace, proof: Proof, *, patched: bool, cpu: bool, line: Callable[[StepResult], None], progress: Progress
) -> Ground:
    """An environment that holds the wheel, verified; made anew when it does not."""
    start = time.monotonic()
    below = base_of(space, proof, progress, cpu=cpu)
    folder = work_folder(space, proof.tag)
    wanted = proof.content if patched else content(proof.upstream, {}, proof.tag.version)
    environment = Environment(folder / ("patched" if patched else "pristine"), (below.site, *below.below))
    environ = clean_environ()
    kept = environment.python.exists() and not verify(environment.python, wanted, environ=environ).findings
    if not kept:
        path = make_wheel(space, proof, folder, progress).path if patched else proof.upstream
        environment = build_env.fresh(environment.folder, below, path, progress)
        if found := verify(environment.python, wanted, environ=environ).findings:
            raise StateError(f"the installation is not the wheel: {_said(found[0])}")
    text = f"{wanted.version}, {len(wanted.files)} files verified" + ("" if kept else ", installed afresh")
    line(StepResult("", "install", "ok", text, time.monotonic() - start))
    return Ground(environment.python, environment.site)


def given(python: Path, sites: Sequence[Path], wanted: Content, line: Callable[[StepResult], None]) -> Ground:
    """An environment that is taken as it is. What is there has to be the release's; files may have been left out.

    Raises StateError when a file of the series is missing or any file is another one's, and when another copy of the
    package would be imported.
    """
    start = time.monotonic()
    ground = Ground(python, sites[0], tuple(sites))
    found = verify(python, wanted, environ=ground.environ())
    root = Path(found.root) if found.root else None
    absent = [each for each in found.findings if each.kind in ("missing", "missing-compiled")]
    missing = [each for each in absent if root and not (root / each.file).exists() and each.file not in wanted.patched]
    in_place = [wrong for wrong in found.findings if wrong.kind == "shadowed" and root in ground.paths]
    if wrong := [each for each in found.findings if each not in missing and each not in in_place]:
        raise StateError(f"`{python}` would not serve the wheel: {_said(wrong[0])} ({len(wrong)} findings)")
    assert root is not None
    text = f"given: {wanted.version}, {len(wanted.files) - len(missing)} of {len(wanted.files)} files verified"
    line(StepResult("", "install", "ok", text + _left_out(missing), time.monotonic() - start))
    return Ground(python, root, ground.paths)


def _said(wrong: Wrong) -> str:
    return f"{wrong.kind} `{wrong.file}` {wrong.message}"


def _left_out(missing: Sequence[Wrong]) -> str:
    """`, left out: sglang/test (310), …`, by the two outermost folders; compiled files by name, for what they would do
    is done by Python code."""
    folders = Counter("/".join(each.file.split("/")[:-1][:2]) for each in missing if each.kind == "missing")
    said = [f"{folder} ({count})" for folder, count in folders.most_common(4)] + ["…"] * (len(folders) > 4)
    said += [each.file.rpartition("/")[2] for each in missing if each.kind == "missing-compiled"]
    return f", left out: {', '.join(said)}" if said else ""
