"""Every patched module imported in a process of its own."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rebasekit.model.progress import SILENT, Progress
from rebasekit.probes.process import run
from rebasekit.probes.scripts import script
from rebasekit.steps.build_content import Content
from rebasekit.steps.build_env import Environment, clean_environ

_IMPORT_LIMIT = 300.0


@dataclass(frozen=True)
class Imported:
    """A patched module imported in a process of its own; `error` is the last line of what went wrong."""

    module: str
    seconds: float
    memory: int
    error: str = ""


def import_modules(
    environment: Environment, content: Content, logs: Path, progress: Progress = SILENT
) -> tuple[Imported, ...]:
    """Import every patched module alone, two at a time: an import that another module did first proves nothing."""
    modules = [_module(path) for path in content.patched if path.endswith(".py")]
    with progress.task("importing patched modules", len(modules), "modules") as task, ThreadPoolExecutor(2) as pool:

        def one(module: str) -> Imported:
            try:
                return _import(environment, module, content, logs)
            finally:
                task.advance()

        return tuple(pool.map(one, modules))


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _import(environment: Environment, module: str, content: Content, logs: Path) -> Imported:
    log = logs / f"import-{module}.log"
    environ = clean_environ({"OMP_NUM_THREADS": "1"})
    argv = [str(environment.python), str(script("imports.py")), module]
    done = run(argv, environ, logs, log, _IMPORT_LIMIT)
    last = done.tail(1)
    if done.code != 0:
        return Imported(module, done.seconds, done.memory, last if done.code else f"more than {_IMPORT_LIMIT:.0f} s")
    said = json.loads(last)
    where = Path(said["file"])
    error = "" if where.is_relative_to(environment.site) else f"imported from `{where}`"
    return Imported(module, said["seconds"], said["memory"], error)
