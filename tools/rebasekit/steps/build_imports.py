"""Every patched module imported in a process of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rebasekit.facts.file import module_name
from rebasekit.model.progress import SILENT, Progress
from rebasekit.probes.process import Group
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
    modules = [module_name(path) for path in content.patched if path.endswith(".py")]
    found: dict[str, Imported] = {}
    with progress.task("importing patched modules", len(modules), "modules") as task, ThreadPoolExecutor(2) as pool:

        def some(number: int) -> None:
            for each in _imported(environment, modules[number::2], logs / f"imports-{number}.log"):
                found[each.module] = each
                task.advance()

        list(pool.map(some, range(2)))
    missing = "nothing was said of it; its process ended"
    return tuple(found.get(module, Imported(module, 0.0, 0, missing)) for module in modules)


def _imported(environment: Environment, modules: Sequence[str], log: Path) -> Iterator[Imported]:
    """Modules one after the other, as they are known."""
    if not modules:
        return
    environ = clean_environ({"OMP_NUM_THREADS": "1"})
    package = modules[0].partition(".")[0]
    argv = [str(environment.python), str(script("imports.py")), package, *modules]
    with Group(argv, environ, log.parent, log) as group:
        for line in group.lines(_IMPORT_LIMIT * len(modules)):
            if not line.startswith('{"module": '):
                continue
            said = json.loads(line)
            error = said["error"]
            if not error and not Path(said["file"]).is_relative_to(environment.site):
                error = f"imported from `{said['file']}`"
            yield Imported(said["module"], said.get("seconds", 0.0), said.get("memory", 0), error)
