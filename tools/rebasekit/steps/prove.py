"""The placement proof: read the patched tree again and show that every hunk stands where its record says."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping

from rebasekit.edit.layout import is_clause
from rebasekit.edit.match import candidates
from rebasekit.edit.presence import statement_lists
from rebasekit.edit.scopes import DEFINITIONS, Scope, find, first_line, last_line, module_scope, walk
from rebasekit.edit.source import Source, Unreadable
from rebasekit.model.finding import Finding
from rebasekit.model.hunk import Place
from rebasekit.model.placement import Placement
from rebasekit.model.tag import Tag
from rebasekit.steps.standing import lost_line
from rebasekit.steps.trees import Trees

# decorators by which one name means several definitions on purpose
_SEVERAL = {"setter", "getter", "deleter", "overload", "register"}


def prove(
    placements: tuple[Placement, ...],
    patched: Mapping[str, bytes | None],
    reversed_: Mapping[str, bytes],
    trees: Trees,
    tag: Tag,
) -> tuple[Finding, ...]:
    """Findings against the patched bytes: misplaced, duplicate-definition, not-reversible."""
    found: list[Finding] = []
    here: dict[str, list[Placement]] = {}
    for placement in placements:
        here.setdefault(placement.file, []).append(placement)
    for path, data in sorted(patched.items()):
        if data is None:
            continue
        pristine = trees.data(tag, path)
        found += _reversible(path, pristine, reversed_[path], placements)
        if not path.endswith(".py"):
            continue
        try:
            source = Source.of(data)
            before = Source.of(pristine) if pristine is not None else Source("")
        except Unreadable as error:
            found.append(_finding("misplaced", path, 0, f"the patched file cannot be read: {error}", placements))
            continue
        found += _duplicates(path, source, before, placements)
        for placement in here.get(path, ()):
            if placement.outcome.applied:
                found += _stands(placement, source)
                found += _says(placement, source, here[path])
    return tuple(found)


def _finding(kind: str, path: str, line: int, message: str, placements: tuple[Placement, ...]) -> Finding:
    """A finding about a line, given to the hunk whose line it is."""
    owner = next((p for p in placements if p.file == path and line in p.lines), None)
    owner = owner or next((p for p in placements if p.file == path and p.outcome.applied), None)
    patch, hunk = (owner.patch, owner.hunk) if owner else ("", "")
    return Finding(
        kind, path, line, message, f"rebasekit show {patch}/{hunk}" if owner else "rebasekit list", patch, hunk
    )


def _reversible(path: str, pristine: bytes | None, back: bytes, placements: tuple[Placement, ...]) -> Iterator[Finding]:
    if back != (pristine or b""):
        yield _finding("not-reversible", path, 0, "taking the hunks back does not give upstream's bytes", placements)


def _stands(placement: Placement, source: Source) -> Iterator[Finding]:
    """Whether the hunk's lines lie in the recorded scope, at the recorded depth."""
    form = placement.form
    if form is None or form.place in (Place.NEW_FILE, Place.TEXT, Place.IMPORT) or not placement.lines:
        return
    scopes = find(source, placement.scope)
    holding = [s for s in scopes if s.first <= placement.lines[0] and placement.lines[-1] <= s.last]
    step = f"rebasekit resolve {placement.name}"
    if len(holding) != 1:
        message = f"its lines {_span(placement)} are not in `{placement.scope or 'the module'}`"
        yield Finding("misplaced", placement.file, placement.lines[0], message, step, placement.patch, placement.hunk)
        return
    depth = _depth(holding[0], placement)
    want = _wanted_depth(placement)
    if depth is not None and want is not None and depth != want:
        message = f"its lines stand {depth} blocks deep in `{placement.scope}`, the record says {want}"
        yield Finding("misplaced", placement.file, placement.lines[0], message, step, placement.patch, placement.hunk)


def _says(placement: Placement, source: Source, placements: list[Placement]) -> Iterator[Finding]:
    """Whether the hunk's lines are the ones that it says, all of them."""
    lost = lost_line(placement, source.text, (p for p in placements if p is not placement))
    if lost:
        message = f"`{lost[:60]}` is not on its lines {_span(placement)}" if placement.lines else "none of it is there"
        first = placement.lines[0] if placement.lines else 0
        step = f"rebasekit show {placement.name}"
        yield Finding("misplaced", placement.file, first, message, step, placement.patch, placement.hunk)


def _span(placement: Placement) -> str:
    return f"{placement.lines[0]}–{placement.lines[-1]}"


def _wanted_depth(placement: Placement) -> int | None:
    form = placement.form
    assert form is not None
    if form.place in (Place.BEFORE, Place.AFTER, Place.REPLACE) and not is_clause(form.lines):
        return placement.depth
    if form.place in (Place.FIRST, Place.LAST):
        return 0 if placement.depth is None else placement.depth + 1
    return None


def _depth(scope: Scope, placement: Placement) -> int | None:
    """Depth of the hunk's outermost statement that begins on one of its lines."""
    lines = set(placement.lines)
    depths = [c.depth for c in candidates(scope) if first_line(c.node) in lines and last_line(c.node) in lines]
    return min(depths, default=None)


def _duplicates(path: str, source: Source, before: Source, placements: tuple[Placement, ...]) -> Iterator[Finding]:
    """Names that a patched scope defines twice in one block although upstream's did not."""
    known = {(label, name) for label, name, _ in _doubled(before)}
    for label, name, line in _doubled(source):
        if (label, name) not in known:
            full = f"{label}.{name}" if label else name
            message = f"`{full}` is defined twice; the last one counts"
            yield _finding("duplicate-definition", path, line, message, placements)


def _doubled(source: Source) -> Iterator[tuple[str, str, int]]:
    for scope in walk(module_scope(source)):
        if isinstance(scope.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        for body, _ in statement_lists(scope):
            nodes = [n for n in body if isinstance(n, DEFINITIONS) and not _several(n)]
            counts = Counter(n.name for n in nodes)
            for node in nodes:
                if counts[node.name] > 1:
                    yield scope.label, node.name, node.lineno
                    counts[node.name] = 0


def _several(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    words = {ast.unparse(d).partition("(")[0].rpartition(".")[2] for d in node.decorator_list}
    return bool(words & _SEVERAL)
