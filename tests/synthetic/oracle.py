"""What comes out, held against what both changes mean: right, a person was asked, or wrong and nobody was told."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product

from rebasekit.model.placement import Placement
from rebasekit.steps.prove import prove
from rebasekit.steps.rebase import repinned
from rebasekit.steps.series import Outcomes, place_series
from rebasekit.steps.trees import Trees
from rebasekit.steps.workspace import pin_tag
from synthetic.cases import NEW, OLD, Case
from synthetic.memory import Bytes, Memory, merged_tree
from synthetic.ours import Way
from synthetic.render import rendered
from synthetic.theirs import undecided

RIGHT, ASKED, WRONG = "right", "asked", "wrong and silent"


@dataclass(frozen=True)
class Judged:
    """`clear` says that there was one answer, so that asking was a false alarm; `git` is what git's merge did."""

    verdict: str
    clear: bool
    git: str
    why: str = ""


def judge(case: Case, *, pinned: bool, rival: bool = False) -> Judged:
    files = Memory({OLD.name: case.old_bytes, NEW.name: case.new_bytes})
    trees, series = Trees(files), case.series
    first = place_series(series, OLD, trees, pin_of=lambda form: pin_tag(form, OLD))
    every = set(range(len(case.ours)))
    why = _wrong_at_home(case, first, trees)
    if why:
        return Judged(WRONG, True, "", f"on its own release: {why}")
    if pinned:
        series = repinned(series, OLD, first.placements)
    outcomes = place_series(series, NEW, trees, pin_of=lambda form: pin_tag(form, OLD))
    placements, general = _proved(outcomes, trees)
    asked = {p.hunk for p in placements if not p.outcome.applied or p.findings}
    there = {p.hunk for p in placements if p.outcome.applied}
    whole = {n for n in every if all(h in there for h, owner in case.owners.items() if owner == n)}
    partly = {case.owners[h] for h in there} - whole
    clear = all(ways_of(case, n)[1] for n in every)
    patched = case.new_bytes | {p: d for p, d in outcomes.tree.bytes().items() if d is not None}
    git = _git(case, every) if rival else ""
    if partly or general:
        return Judged(ASKED, clear, git)
    quiet = {n for n in whole if not any(h in asked for h, owner in case.owners.items() if owner == n)}
    if not quiet:
        return Judged(ASKED, clear, git)
    why = _fits(case, whole, patched) or _bytes(case, whole, patched)
    if why and quiet == whole:
        return Judged(WRONG, clear, git, why)
    if why:  # something was reported; the tree may be wrong where it was
        bare = {n for n in whole if n in quiet}
        alone = _placed_alone(case, bare, pinned)
        return Judged(WRONG, clear, git, alone) if alone else Judged(ASKED, clear, git)
    return Judged(RIGHT if quiet == every else ASKED, clear, git)


def _placed_alone(case: Case, which: set[int], pinned: bool) -> str:
    """The reason why some of the changes, without the others, are wrong; they were placed without a word."""
    from dataclasses import replace

    hunks = [h for h in case.hunks if case.owners[h.id] in which]
    part = replace(case, hunks=hunks, owners={h.id: case.owners[h.id] for h in hunks})
    trees = Trees(Memory({OLD.name: case.old_bytes, NEW.name: case.new_bytes}))
    series = part.series
    if pinned:
        first = place_series(series, OLD, trees, pin_of=lambda form: pin_tag(form, OLD))
        series = repinned(series, OLD, first.placements)
    outcomes = place_series(series, NEW, trees, pin_of=lambda form: pin_tag(form, OLD))
    if any(not p.outcome.applied or p.findings for p in outcomes.placements):
        return ""
    patched = case.new_bytes | {p: d for p, d in outcomes.tree.bytes().items() if d is not None}
    return _fits(case, which, patched)


def _proved(outcomes: Outcomes, trees: Trees) -> tuple[list[Placement], bool]:
    """The placements with the proof's findings, as a rebase shows them; whether there are findings beside."""
    from dataclasses import replace

    back = {
        path: outcomes.tree.sources[path].with_text(owned.reversed()).encode()
        for path, owned in outcomes.tree.files.items()
    }
    found = prove(outcomes.placements, outcomes.tree.bytes(), back, trees, NEW)
    names = {p.name for p in outcomes.placements}
    mine = [
        replace(p, findings=p.findings + tuple(f for f in found if f"{f.patch}/{f.hunk}" == p.name))
        for p in outcomes.placements
    ]
    return mine, any(f"{f.patch}/{f.hunk}" not in names for f in found)


def _wrong_at_home(case: Case, outcomes: Outcomes, trees: Trees) -> str:
    """On the release that they were made on, the hunks give what was meant, or say that they do not."""
    if any(not p.outcome.applied for p in outcomes.placements):
        return ""
    wanted = rendered(case.written(set(range(len(case.ours))), case.base))
    have = case.old_bytes | {p: d for p, d in outcomes.tree.bytes().items() if d is not None}
    return _differs(wanted, have)


def ways_of(case: Case, number: int) -> tuple[list[Way], bool]:
    """What one of our changes may mean on the new tree, and whether it is one thing."""
    one = case.ours[number]
    ways, clear = one.ways(case.base, case.new)
    if undecided(case.base, case.new, case.torn, one.label, around=any(one.gap)) == "twins":
        return [], False  # taking either is a guess
    return ways, clear


def _fits(case: Case, which: set[int], patched: Bytes) -> str:
    """Why the tree is none of those that the changes may mean together; empty when it is one."""
    ways = []
    for number in sorted(which):
        options, _ = ways_of(case, number)
        if not options:
            return f"{case.ours[number].place}: upstream changed what it changes, and it was placed"
        ways.append(options)
    first = ""
    for chosen in islice(product(*ways), 64):
        made = case.new.copy()
        for way in chosen:
            way(made)
        why = _differs(rendered(made), patched)
        if not why:
            return ""
        first = first or why
    return first


def _differs(wanted: Bytes, have: Bytes) -> str:
    for path in sorted({*wanted, *have}):
        one, other = wanted.get(path), have.get(path)
        if one == other:
            continue
        if one is None or other is None:
            return f"{path}: there on one side only"
        if not path.endswith(".py"):
            return f"{path}: other lines"
        try:
            if meaning(one) != meaning(other):
                return f"{path}: other statements"
        except SyntaxError as error:
            return f"{path}: {error}"
    return ""


class _Plain(ast.NodeTransformer):
    """The order of keyword arguments means nothing, nor that of imports; ours only have to be at the top level."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        node.keywords.sort(key=lambda keyword: keyword.arg or "")
        return node

    def visit_Module(self, node: ast.Module) -> ast.AST:
        self.generic_visit(node)
        node.body.sort(key=lambda s: ast.dump(s) if _ours(s) else "~")
        return node


def _ours(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Import) and statement.names[0].name.startswith("ours_")


def meaning(data: bytes) -> str:
    return ast.dump(_Plain().visit(ast.parse(data)))


def _bytes(case: Case, which: set[int], patched: Bytes) -> str:
    """Upstream's own lines are all there and in order, with its line ends and its byte order mark."""
    if any(case.ours[n].place not in ("before", "after", "first", "last", "new-file") for n in which):
        return ""
    for path, pristine in case.new_bytes.items():
        data = patched[path]
        if data == pristine:
            continue
        if data.startswith(b"\xef\xbb\xbf") != pristine.startswith(b"\xef\xbb\xbf"):
            return f"{path}: the byte order mark"
        rest = iter(_lines(data))
        if not all(line in rest for line in _lines(pristine)):
            return f"{path}: a line of upstream's is gone or elsewhere"
        if b"\r\n" in pristine and data.count(b"\n") != data.count(b"\r\n"):
            return f"{path}: line ends"
        if data.endswith(b"\n") != pristine.endswith(b"\n"):
            return f"{path}: the end of the last line"
    return ""


def _lines(data: bytes) -> Iterator[bytes]:
    for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        yield line.removesuffix(b"\r")


def _git(case: Case, every: set[int]) -> str:
    """The verdict on git's merge of the same three trees."""
    ours = rendered(case.written(every, case.base))
    merged = merged_tree(case.old_bytes, ours, case.new_bytes)
    if merged is None:
        return ASKED
    return WRONG if _fits(case, every, merged) else RIGHT


def describe(case: Case) -> str:
    """The case for a person: upstream's changes, our hunks, and the three trees."""
    lines = [f"upstream: {', '.join(case.done)}"]
    for hunk in case.hunks:
        form = hunk.forms[0]
        lines += [f"{hunk.id}: {form.place.value} {form.file}:{form.scope} at {form.at!r} to {form.to!r}", form.lines]
    ours = rendered(case.written(set(range(len(case.ours))), case.base))
    for title, data in (("base", case.old_bytes), ("ours", ours), ("theirs", case.new_bytes)):
        for path, text in data.items():
            if title == "base" or text != case.old_bytes.get(path):
                lines += [f"--- {title} {path}", text.decode()]
    return "\n".join(lines)
