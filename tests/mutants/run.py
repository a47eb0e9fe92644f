"""One mutant through a whole `rebase`, and its program through Python."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from harness import Case, Result, write_tree
from mutant_list import Change, Files, Mutant
from mutant_project import GOOD

from rebasekit.model.tag import Tag
from rebasekit.steps.rebase import carry
from rebasekit.steps.series import Tree
from rebasekit.steps.workspace import Workspace

WRITTEN = Tree.bytes
PROGRAM = """
import app.main, app.narrow
print(vars(app.main.main().pool), app.narrow.Narrow(4).alloc(2))
"""


@dataclass(frozen=True)
class Verdict:
    """What a rebase said, and what the patched program printed (its error's name when it failed)."""

    result: Result
    said: set[str]
    printed: str


def judged(case: Case, mutant: Mutant, tag: str) -> Verdict:
    """Release the mutant as `tag` and rebase to it."""
    case.tag(tag, mutant.change(GOOD) if mutant.where == "upstream" else GOOD)
    with damaged(mutant.change if mutant.where == "patched" else lambda files: files, tag):
        result = case.run("rebase", tag)
        assert result.exit in (0, 1, 3), result.stderr
        space = Workspace(case.project, case.cache)
        tree = carry(space, Tag(tag)).verdict.tree
    said = set(result.kinds) | {word for word in result.placements.values() if word not in ("carried", "shifted")}
    return Verdict(result, said, printed(case, tag, tree))


@contextmanager
def damaged(change: Change, tag: str) -> Iterator[None]:
    """The patched tree is written with damage; everything that proves and checks it sees the damaged one."""

    def bytes_(tree: Tree) -> dict[str, bytes | None]:
        made = WRITTEN(tree)
        if tree.tag.name != tag:
            return made
        files: Files = {path: data.decode() for path, data in made.items() if data is not None}
        before = dict(files)
        try:
            files = change(files)
        except (AssertionError, KeyError):  # a stage of the series that has not all hunks yet
            files = before
        return {path: files[path].encode() if data is not None else None for path, data in made.items()}

    with mock.patch.object(Tree, "bytes", bytes_):
        yield


def printed(case: Case, tag: str, tree: dict[str, bytes | None]) -> str:
    """What the patched program prints."""
    folder = Path(case.root / "run" / tag)
    write_tree(folder, {**case.pristine(tag), **{path: data for path, data in tree.items() if data is not None}})
    argv = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(argv, cwd=folder, env=case.env, capture_output=True, text=True, check=False)
    return done.stdout if not done.returncode else done.stderr.strip().splitlines()[-1]
