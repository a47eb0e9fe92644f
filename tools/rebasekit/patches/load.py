"""Reading `patchset/`: the one way in for every other part of the toolkit."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rebasekit.errors import PatchsetError
from rebasekit.model.hunk import Patch, Series
from rebasekit.patches.files import Files
from rebasekit.patches.folder import read_patch
from rebasekit.patches.pattern import PatternCheck, check_pattern
from rebasekit.patches.problems import Problems, Warned
from rebasekit.patches.recovery import reading
from rebasekit.patches.series import read_series

_HINT = "run the command in the folder that holds `patchset/`"


@dataclass(frozen=True)
class Loaded:
    """A series, and what is odd about its files without being wrong."""

    series: Series
    warnings: tuple[Warned, ...]


def load(patchset: Path, *, check: PatternCheck = check_pattern) -> Loaded:
    """Read a whole patchset; raise PatchsetProblems with everything that is wrong with it.

    `check` raises ValueError for an `at` that is no pattern.
    """
    folder = patchset.resolve()
    if not folder.parent.is_dir():
        raise PatchsetError(f"{folder.name}/series.toml", "is not there", hint=_HINT)
    with reading(folder.parent):
        files = Files(folder.parent)
        if not files.exists(f"{folder.name}/series.toml"):
            raise PatchsetError(f"{folder.name}/series.toml", "is not there", hint=_HINT)
        return load_files(files, folder.name, check=check)


def load_files(files: Files, patchset: str, *, check: PatternCheck = check_pattern) -> Loaded:
    """The same for files that a transaction has staged. The caller sees to locks."""
    problems = Problems()
    series = read_series(files, patchset, check, problems)
    problems.check()
    assert series is not None
    return Loaded(series, tuple(problems.warnings))


def load_series(patchset: Path, *, check: PatternCheck = check_pattern) -> Series:
    """The series in the folder `patchset`; raise PatchsetProblems with everything that is wrong with it."""
    return load(patchset, check=check).series


def load_patch(folder: Path, *, check: PatternCheck = check_pattern) -> Patch:
    """One patch by its folder, whether or not the series names it; raise PatchsetProblems."""
    # Not resolved whole: a patch folder that is itself a link must be seen as one.
    parent = folder.absolute().parent.resolve()
    with reading(parent.parent):
        return load_patch_files(Files(parent.parent), f"{parent.name}/{folder.name}", check=check)


def load_patch_files(files: Files, path: str, *, check: PatternCheck = check_pattern) -> Patch:
    """The same for files that a transaction has staged."""
    problems = Problems()
    patch = read_patch(files, path, check, problems)
    problems.check()
    assert patch is not None
    return patch
