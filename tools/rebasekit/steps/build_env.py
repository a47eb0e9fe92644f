"""Environments to serve in: shared layers of packages, and one small environment per wheel on top of them."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rebasekit.errors import StateError
from rebasekit.model.progress import Progress
from rebasekit.probes.process import run, tail
from rebasekit.steps.build_needs import Needs
from rebasekit.upstream.lock import held

_LIMIT = 1800.0  # seconds for one installation; a CPU torch takes two minutes
_PTH = "rebasekit-below.pth"
_READY = "rebasekit.json"


@dataclass(frozen=True)
class Environment:
    """A virtual environment; `below` are the site-packages that it sees beneath its own."""

    folder: Path
    below: tuple[Path, ...] = ()

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def site(self) -> Path:
        return self.folder / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"


def clean_environ(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment without what would lead another Python astray."""
    dropped = ("PYTHON", "VIRTUAL_ENV", "NOX_", "PIP_TARGET", "PIP_PREFIX", "PIP_USER")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(dropped)}
    return {**kept, "PYTHONNOUSERSITE": "1", **(extra or {})}


def base(cache: Path, needs: Needs, progress: Progress) -> Environment:
    """The layers that satisfy `needs`, made when they are not there: one per distinct set, shared by releases."""
    environment: Environment | None = None
    for requirements in (needs.first, needs.rest):
        if requirements:
            environment = _layer(cache, requirements, environment, progress)
    if environment is None:
        environment = _layer(cache, (), None, progress)
    return environment


def fresh(folder: Path, below: Environment, wheel: Path, progress: Progress) -> Environment:
    """A new environment over `below` with nothing of its own but the wheel."""
    with progress.task(f"installing {wheel.name}"):
        made = _make(folder, below)
        _pip(made, ["--no-deps", str(wheel.absolute())], folder)  # pip runs in the folder
    return made


def _layer(cache: Path, requirements: Sequence[str], below: Environment | None, progress: Progress) -> Environment:
    """One shared layer. A layer without its stamp is what a killed run left, and is made anew."""
    said = "\n".join([sys.version, *requirements, str(below.folder) if below else ""])
    folder = cache / "serve" / "layers" / hashlib.sha256(said.encode()).hexdigest()[:16]
    layer = Environment(folder, _beneath(below))
    if (folder / _READY).is_file():
        return layer
    folder.parent.mkdir(parents=True, exist_ok=True)
    with held(folder.with_suffix(".lock"), "makes an environment"):
        if not (folder / _READY).is_file():
            what = requirements[0] if len(requirements) == 1 else f"{len(requirements)} packages"
            with progress.task(f"installing {what} (minutes, once)"):
                _make(folder, below)
                if requirements:
                    _pip(layer, requirements, folder)
            (folder / _READY).write_text(json.dumps({"requirements": list(requirements)}, indent=1))
    return layer


def _beneath(below: Environment | None) -> tuple[Path, ...]:
    return (below.site, *below.below) if below else ()


def _make(folder: Path, below: Environment | None) -> Environment:
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "venv", "--without-pip", str(folder)]
    done = subprocess.run(command, env=clean_environ(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise StateError(f"`{folder}` cannot be made: {done.stderr.strip() or done.stdout.strip()}")
    made = Environment(folder, _beneath(below))
    # `addsitedir` and not bare paths: .pth files of the layers beneath count as well.
    lines = [f"import site; site.addsitedir({str(path)!r})\n" for path in made.below]
    (made.site / _PTH).write_text("".join(lines))
    return made


def _pip(environment: Environment, arguments: Sequence[str], folder: Path) -> None:
    log = folder / "pip.log"
    argv = [sys.executable, "-m", "pip", "--python", str(environment.python), "install", "--no-input", "--no-compile"]
    done = run([*argv, "--progress-bar=off", *arguments], clean_environ(), folder, log, _LIMIT)
    if done.code != 0:
        last = [line for line in tail(log, 30).splitlines() if line.lower().startswith("error")] or [tail(log, 1)]
        why = "took too long" if done.code is None else last[0].partition(":")[2].strip() or last[0]
        raise StateError(f"pip could not install into `{folder}`: {why}", hint=f"less {log}")
