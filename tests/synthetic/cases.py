"""A whole case: a base, our changes as hunks, upstream's next release, and what may come out."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar

from rebasekit.edit.match import matches
from rebasekit.edit.patterns import PatternError, parse_pattern
from rebasekit.edit.scopes import Scope, find, first_line, module_scope
from rebasekit.edit.scopes import walk as scopes
from rebasekit.edit.source import Source
from rebasekit.errors import StateError
from rebasekit.model.hunk import Form, Hunk, Patch, Place, Series
from rebasekit.model.hunk import UpstreamSource as Upstream_
from rebasekit.model.tag import Tag
from rebasekit.steps.bench import Bench
from rebasekit.steps.import_ import _said
from rebasekit.steps.rework import Rework
from rebasekit.steps.workspace import Workspace
from rebasekit.steps.worktree import Found
from rebasekit.upstream.patchfile import FileChange
from synthetic.grow import Dice, simple, tree
from synthetic.memory import Bytes
from synthetic.model import Block, File, Node, Tree, Where
from synthetic.model import find as find_node
from synthetic.ours import FILES, Ours, choose, gaps
from synthetic.render import at_column_0, encoded, rendered, sheet
from synthetic.theirs import Upstream, release, undecided

OLD, NEW = Tag("v1.0.0"), Tag("v1.1.0")


@dataclass
class Case:
    """`hunks` say `ours`, one for one or several for one (`owners`); `new` is upstream's next tree."""

    base: Tree
    ours: list[Ours]
    hunks: list[Hunk]
    owners: dict[str, int]
    new: Tree
    torn: dict[int, int]
    done: list[str]
    old_bytes: Bytes = field(default_factory=dict)
    new_bytes: Bytes = field(default_factory=dict)

    @property
    def series(self) -> Series:
        return Series(OLD, Upstream_("git", url="x"), (Patch("p", "p", "w", "r", hunks=tuple(self.hunks)),))

    def written(self, which: set[int], tree: Tree) -> Tree:
        """A tree with some of our changes, as they were written."""
        made = tree.copy()
        for number, one in enumerate(self.ours):
            if number in which:
                made = one.alone(made)
        return made


def make(dice: Dice, space: Workspace, *, filler: int = 0) -> Case | None:
    """A case, or None when the change of ours cannot be said (no such statement, no pattern that fits once)."""
    base = tree(dice)
    if filler:
        pad(dice, base, filler)
    data = rendered(base)
    if not all(_parses(path, text) for path, text in data.items()):
        return None
    ours: list[Ours] = []
    taken: set[int] = set()
    for _ in range(1 + dice.one_in(3)):
        one = choose(dice, base, taken)
        if one is not None and (one.place not in FILES or all(o.place != one.place for o in ours)):
            ours.append(one)
    hunks: list[Hunk] = []
    owners: dict[str, int] = {}
    for number, one in enumerate(ours):
        said = say(dice, space, base, data, one)
        if said is None:
            return None
        for hunk in said:
            hunks.append(replace(hunk, id=f"h{len(hunks)}"))
            owners[hunks[-1].id] = number
    if not hunks:
        return None
    near = [one.label for one in ours]
    up = release(Upstream(dice, base.copy(), near, near))
    if any(undecided(base, up.tree, up.torn, one.label, around=any(one.gap)) == "alike" for one in ours):
        return None
    new = rendered(up.tree)
    if not all(_parses(path, text) for path, text in new.items()):
        return None
    return Case(base, ours, hunks, owners, up.tree, up.torn, up.done, data, new)


def pad(dice: Dice, base: Tree, lines: int) -> None:
    """Functions in front and behind, until the file has so many lines."""
    body = base.files["pkg/main.py"].body
    head = next((i for i, n in enumerate(body) if n.kind in ("def", "class")), len(body))
    made = []
    for _ in range(lines // 9):
        run = [Node(dice.label(), f"fill_{next(dice.labels)} = {n}") for n in range(6)]
        made.append(
            Node(dice.label(), kind="def", name=f"filler_{next(dice.labels)}", items=[], blocks=[Block("", run)])
        )
    body[head:head] = made[: len(made) // 2]
    body += made[len(made) // 2 :]


def _parses(path: str, data: bytes) -> bool:
    try:
        return not path.endswith(".py") or bool(ast.parse(data))
    except (SyntaxError, ValueError):
        return False


# ---- saying a change as hunks ----


def say(dice: Dice, space: Workspace, base: Tree, data: Bytes, one: Ours) -> list[Hunk] | None:
    """Hunks for one change: written by hand, from a diff, or by hand and then refreshed to what was meant."""
    kind = dice.below(4) if one.place not in FILES else 0
    if one.by_diff or (kind >= 2 and one.place != "new-file"):
        return _imported(space, base, data, one, refreshed=kind == 3, dice=dice)
    form = _by_hand(dice, base, data, one)
    return [Hunk("p", "h", (form,))] if form is not None else None


def _by_hand(dice: Dice, base: Tree, data: Bytes, one: Ours) -> Form | None:
    if one.place == "new-file":
        return Form(one.path, "", Place.NEW_FILE, lines=encoded(File(one.nodes)).decode())
    if one.place == "import":
        return Form(one.path, "", Place.IMPORT, lines=at_column_0(one.nodes))
    where = find_node(base, one.label)
    assert where is not None
    source = Source.of(data[where.path])
    spans = sheet(base.files[where.path]).spans
    holder = where.node if one.place in ("first", "last", "parameter", "base") else where.scope
    scope = _scope(source, spans[holder.label][0]) if holder else module_scope(source)
    if scope is None or len(find(source, scope.label)) != 1:
        return None
    if one.place in ("first", "last", "parameter", "base"):
        lines = at_column_0(one.nodes) if one.nodes else one.item.shown() if one.item else ""
        if one.place == "base" and one.item:
            lines = one.item.text
        return Form(where.path, scope.label, Place(one.place), lines=lines)
    inside = one.place in ("element", "argument")
    for at in patterns(dice, where, inside=inside):
        try:
            found = matches(parse_pattern(at), scope)
        except PatternError:
            continue
        if len(found) == 1 and first_line(found[0].node) == spans[one.label][0]:
            if inside:
                assert one.item is not None
                return Form(where.path, scope.label, Place(one.place), at, lines=one.item.shown())
            lines = at_column_0(one.nodes)
            if one.place == "clause":
                lines = at_column_0([Node(0, kind="compound", blocks=[Block(one.text, one.nodes)])])
            place = Place.AFTER if one.place == "clause" else Place(one.place)
            return Form(where.path, scope.label, place, at, lines=lines)
    return None


def _scope(source: Source, line: int) -> Scope | None:
    return next((s for s in scopes(module_scope(source)) if s.name and s.first == line), None)


def patterns(dice: Dice, where: Where, *, inside: bool) -> Iterator[str]:
    """Patterns that a person would write for the statement, one with wildcards first or last."""
    node = where.node
    if node.kind == "def":
        yield f"{node.word} {node.name}(...): ..."
        return
    if node.kind == "class":
        yield f"class {node.name}: ..."
        return
    if node.kind == "compound":
        heads = [block.head for block in node.blocks]
        if heads[0] != "try:" and not heads[0].startswith("match "):
            yield f"{heads[0]} ..."
        yield "\n".join(f"{head}\n    ..." for head in heads)
        return
    if inside:
        yield f"{node.pre}...{node.post}"
        return
    exact = node.line()
    name, sign, _ = exact.partition(" = ")
    open_ = [f"{name} = ..."] if sign and name.isidentifier() else [f"{node.pre}...{node.post}"] if node.items else []
    yield from ([*open_, exact] if dice.below(2) else [exact, *open_])


class One(Bench):
    """A bench whose release is a dictionary."""

    data: ClassVar[Bytes] = {}

    def __post_init__(self) -> None:
        super().__post_init__()
        for path, text in self.data.items():
            self.trees._data[(self.tag.name, path)] = text


def _imported(
    space: Workspace, base: Tree, data: Bytes, one: Ours, *, refreshed: bool, dice: Dice
) -> list[Hunk] | None:
    wanted = rendered(one.alone(base))
    path = next((p for p in wanted if wanted[p] != data.get(p)), None)
    if path is None or not _parses(path, wanted[path]):
        return None
    bench = type("Made", (One,), {"data": data})(space, OLD, "p")
    if one.place in ("before", "after", "first", "last"):
        one.by_diff, one.gap = True, gaps(base, one)
    try:
        if not refreshed:
            return _said(bench, FileChange(path, data[path], wanted[path]), set())
        hunks = []
        if one.place in ("before", "after", "replace", "first", "last"):
            other = replace(one, nodes=[simple(dice)])
            form = _by_hand(dice, base, data, other)
            hunks = [Hunk("p", "h", (form,))] if form is not None else []
        trial = bench.try_file(path, hunks) if hunks else None
        if trial is None or trial.data is None:
            hunks = []
        placements = {p.hunk: p for p in trial.placements} if trial and hunks else {}
        now = trial.data if trial and hunks else data[path]
        work = Rework(bench, Found(path, wanted[path]), hunks, placements, data[path], now, {h.id for h in hunks})
        return work.hunks()
    except StateError:
        return None
