"""Packages beside the serving one that are programs of their own: they build on it, and it does not know them.

A client, a benchmark, a second server: importing one of its modules does not make serving run it. What serving's own
code calls on an object of unknown class is no method of theirs, for nobody but they make such objects.
"""

from __future__ import annotations

from collections.abc import Iterable

from rebasekit.facts.file import FileFacts
from rebasekit.facts.program import Program
from rebasekit.facts.settings import Settings

HOME = ""  # files beside the entry point itself


def programs(program: Program, settings: Settings) -> list[str]:
    """For each file the package whose program it is a part of, "" for what serving is made of."""
    entries = [program.modules[name] for e in settings.entries if (name := e.partition(":")[0]) in program.modules]
    tops = {program.paths[index].partition("/")[0] for index in entries}
    packages = [package(path, tops) for path in program.paths]
    known: dict[str, str | None] = {}
    reads: dict[str, set[str]] = {}  # packages that each package imports from
    for index, path in enumerate(program.paths):
        if not settings.test_pattern.search(path):
            file = program.file(index)
            with file.glance():
                reads.setdefault(packages[index], set()).update(_imported(program, file, known, packages))
    serving = {HOME, *(packages[index] for index in entries)}
    for index in entries:
        serving.update(_imported(program, program.file(index), known, packages))
    home = serving.union(*(reads.get(name, set()) for name in serving))
    return [HOME if name in home or not reads.get(name, set()) & home else name for name in packages]


def package(path: str, tops: set[str]) -> str:
    """The part of a tree that a file belongs to: a folder in the entry point's top package, or another top package."""
    folders = path.split("/")[:-1]
    if folders[:1] and folders[0] in tops:
        return "/".join(folders[:2]) if len(folders) > 1 else HOME
    return folders[0] if folders else HOME


def _imported(program: Program, file: FileFacts, known: dict[str, str | None], packages: list[str]) -> Iterable[str]:
    """Packages that a file imports from, tests for `TYPE_CHECKING` aside."""
    for head in file.heads:
        for _alias, module, name, level, _line, guard in head[11]:
            if level == 0 and not (guard and file.typing_only(guard)):
                wanted = f"{module}.{name}" if name else module
                if wanted not in known:
                    known[wanted] = _holding(program, wanted, packages)
                if (found := known[wanted]) is not None:
                    yield found


def _holding(program: Program, module: str, packages: list[str]) -> str | None:
    while module:
        index = program.modules.get(module)
        if index is not None:
            return packages[index]
        module = module.rpartition(".")[0]
    return None
