"""Answers of the checks kept in the cache: the same trees, hunks and program give the same findings."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from rebasekit.model.finding import Finding
from rebasekit.model.hunk import Series
from rebasekit.model.verdict import Verdict
from rebasekit.patches.moves import load_moves
from rebasekit.patches.resolutions import load_resolutions
from rebasekit.steps.checking import Checked
from rebasekit.steps.keeping import keep
from rebasekit.steps.workspace import Workspace, check_pattern, pin_tag


def kept(space: Workspace, verdict: Verdict, series: Series, ask: Callable[[], Checked]) -> Checked:
    """The kept answer for exactly this question, else a new one. A damaged answer is asked for again."""
    path = space.cache / "checks" / f"{_key(space, verdict, series)}.json"
    with suppress(OSError, ValueError, TypeError, KeyError):
        data = json.loads(path.read_text(encoding="utf-8"))
        return Checked(tuple(Finding(**each) for each in data["findings"]), tuple(data["notes"]))
    answer = ask()
    keep(path, {"findings": [asdict(each) for each in answer.findings], "notes": list(answer.notes)})
    return answer


def _key(space: Workspace, verdict: Verdict, series: Series) -> str:
    """Everything that an answer depends on: the program, the releases, the series, and what a person confirmed."""
    tags = {verdict.tag, series.base} | {pin_tag(form, series.base) for h in series.hunks() for form in h.forms}
    store = space.store
    commits = sorted(f"{tag} {store.commit(tag)}" for tag in tags if store.has(tag))
    tree = {path: hashlib.sha256(data or b"").hexdigest() for path, data in sorted(verdict.tree.items())}
    people = [load_moves(space.root), sorted(load_resolutions(space.root, check=check_pattern).items())]
    parts = [_program(), commits, tree, series, verdict.placements, people]
    return hashlib.sha256("\0".join(map(repr, parts)).encode(errors="surrogateescape")).hexdigest()[:32]


def _program() -> tuple[object, ...]:
    """This program, by the state of its files, and what else decides: Python's parser and pyflakes."""
    home = Path(__file__).resolve().parent.parent
    files = sorted(home.rglob("*.py"))
    states = [(path.as_posix(), stat.st_size, stat.st_mtime_ns) for path in files if (stat := path.stat())]
    return (sys.version, version("pyflakes"), states)
