"""Our changes: what they do to the model, and in which ways they can be said on another tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from synthetic.grow import Dice, adorn, compound, function, simple
from synthetic.model import Block, File, Item, Line, Node, Tree, Where, canon, find, walk
from synthetic.theirs import case, fixed, inner, loose, scope

Way = Callable[[Tree], None]
STATEMENTS = ("before", "after", "replace", "delete", "first", "last", "clause")
INSIDE = ("element", "argument", "parameter", "base")
BY_DIFF = ("item", "head")  # changes inside a statement, which only a diff can say
FILES = ("import", "new-file", "text")


@dataclass
class Ours:
    """One change of ours. `gap` is set when it was said by a diff, which knows a statement's neighbours only."""

    place: str
    label: int = 0
    nodes: list[Node] = field(default_factory=list)
    item: Item | None = None
    to: int = 0
    text: str = ""
    path: str = ""
    block: int = 0
    by_diff: bool = False
    gap: tuple[int, int, int, int] = (0, 0, 0, 0)  # previous, next, owner and its block; 0 for none

    def alone(self, tree: Tree) -> Tree:
        """The tree with this change, as it was written."""
        made = tree.copy()
        self._write(made)
        return made

    def _write(self, tree: Tree) -> None:
        if self.place in ("before", "after", "first", "last"):
            _put(tree, self.place, self.label, self.block, self.nodes)
        elif self.place in ("replace", "delete"):
            where = _at(tree, self.label)
            where.body[where.index : where.index + 1] = self.nodes
        elif self.place == "clause":
            blocks = _at(tree, self.label).node.blocks
            blocks.insert(len(blocks) if self.text == "else:" else 1, Block(self.text, self.nodes))
        elif self.place == "item":
            item = _item(tree, self.label, self.to)
            assert item is not None
            item.text = self.text
        elif self.place == "head":
            _at(tree, self.label).node.blocks[self.block].head = self.text
        elif self.place in INSIDE:
            node = _at(tree, self.label).node
            assert self.item is not None
            node.items = [] if node.items is None else node.items
            at = next((i + 1 for i, item in enumerate(node.items) if item.label == self.to), len(node.items))
            node.items.insert(at, self.item)
        elif self.place == "import":
            body = tree.files[self._home(tree)].body
            at = max((i for i, n in enumerate(body) if n.text.startswith(("import ", "from "))), default=-1)
            body[at + 1 : at + 1] = self.nodes
        elif self.place == "new-file":
            tree.files[self.path] = File(self.nodes)
        else:
            lines = tree.texts[self.path]
            at = next(i for i, line in enumerate(lines) if line.label == self.label)
            lines[at : at + (self.text == "")] = [Line(-self.label, f"ours {self.label}")]

    def _home(self, tree: Tree) -> str:
        return next((path for path, file in tree.files.items() if file.label == self.to), "")

    def ways(self, base: Tree, new: Tree) -> tuple[list[Way], bool]:
        """What it may mean on another tree, and whether that is one thing that nobody has to be asked about.

        None: it contradicts what upstream did, so a person has to be asked.
        """
        if self.place == "new-file":
            return ([self._write], True) if self.path not in new.files else ([], False)
        if self.place == "text":
            return self._text_ways(base, new)
        if self.place == "import":
            return ([self._write], True) if self._home(new) else ([], False)
        was, now = find(base, self.label), find(new, self.label)
        assert was is not None
        if self.place in ("before", "after", "first", "last") and self.by_diff:
            return self._between(new)
        if now is None:
            return ([lambda tree: None], False) if self.place == "delete" else ([], False)
        if self.place in ("replace", "delete"):
            if canon(was.node, False) != canon(now.node, False):
                return [], False
            return [self._write], canon(was.node) == canon(now.node)
        if self.place == "item":
            old, item = _item(base, self.label, self.to), _item(new, self.label, self.to)
            return ([self._write], True) if old and item and old.shown() == item.shown() else ([], False)
        if self.place == "head":
            before, after = was.node.blocks, now.node.blocks
            same = self.block < len(after) and before[self.block].head == after[self.block].head
            return ([self._write], True) if same else ([], False)
        if self.place in INSIDE and self.to and _item(new, self.label, self.to) is None:
            return [], False
        if self.place == "clause" and [b.head for b in was.node.blocks] != [b.head for b in now.node.blocks]:
            return [self._write], False  # the clause's meaning hangs on the conditions before it
        return [self._write], True

    def _between(self, new: Tree) -> tuple[list[Way], bool]:
        """A diff says "between these two": behind the one, or before the other, wherever they are now."""
        before, after, owner, block = self.gap
        one, other = find(new, before), find(new, after)
        ways: list[Way] = []
        if one is not None:
            ways.append(lambda tree: _put(tree, "after", before, 0, self.nodes))
        if other is not None:
            ways.append(lambda tree: _put(tree, "before", after, 0, self.nodes))
        if not before and (owner == 0 or find(new, owner)) and owner:
            ways.append(lambda tree: _put(tree, "first", owner, block, self.nodes))
        if not after and owner and find(new, owner):
            ways.append(lambda tree: _put(tree, "last", owner, block, self.nodes))
        together = one and other and one.body is other.body
        if together and one and other and one.index + 1 < other.index:
            for node in one.body[one.index + 1 : other.index - 1]:
                label = node.label
                ways.append(lambda tree, label=label: _put(tree, "after", label, 0, self.nodes))  # type: ignore[misc]
        clear = bool(together and one and other and one.index + 1 == other.index) or len(ways) == 1
        return ways, clear

    def _text_ways(self, base: Tree, new: Tree) -> tuple[list[Way], bool]:
        lines = new.texts.get(self.path, [])
        labels = [line.label for line in lines]
        old = base.texts[self.path]
        at = next(i for i, line in enumerate(old) if line.label == self.label)
        if self.text == "":  # a line is replaced
            here = next((line for line in lines if line.label == self.label), None)
            return ([self._write], True) if here and here.text == old[at].text else ([], False)
        before = old[at - 1].label if at else 0
        ways: list[Way] = []
        if self.label in labels:
            ways.append(self._write)
        if before in labels:

            def behind(tree: Tree) -> None:
                now = tree.texts[self.path]
                place = next(i for i, line in enumerate(now) if line.label == before)
                now.insert(place + 1, Line(-self.label, f"ours {self.label}"))

            ways.append(behind)
        return ways, len(ways) == 2 and labels.index(self.label) == labels.index(before) + 1


def _at(tree: Tree, label: int) -> Where:
    where = find(tree, label)
    assert where is not None
    return where


def _item(tree: Tree, label: int, item: int) -> Item | None:
    where = find(tree, label)
    return next((i for i in (where.node.items or []) if i.label == item), None) if where else None


def _put(tree: Tree, place: str, label: int, block: int, nodes: list[Node]) -> None:
    where = _at(tree, label)
    if place in ("before", "after"):
        at = where.index + (place == "after")
        where.body[at:at] = nodes
        return
    body = where.node.blocks[min(block, len(where.node.blocks) - 1)].body
    if place == "last":
        body[len(body) :] = nodes
        return
    first = 1 if where.node.kind in ("def", "class") and body and body[0].text.startswith('"""') else 0
    body[first:first] = nodes


# ---- making them ----


def lines(dice: Dice, where: Where, *, one: bool = False) -> list[Node]:
    """Statements of ours, such as fit there."""
    made: list[Node] = []
    for _ in range(1 if one else 1 + dice.below(3)):
        kind = dice.below(8)
        in_class = where.scope is not None and where.scope.kind == "class" and where.above[-1] is where.scope
        if kind == 7 and (in_class or not where.above):
            node = function(dice, 0, method=in_class)
            node.blank = 1
        else:
            node = compound(dice, 0) if kind == 6 else simple(dice)
            adorn(dice, node)
        made.append(node)
    made[0].blank = 0
    return made


def choose(dice: Dice, tree: Tree, taken: set[int]) -> Ours | None:
    """A change of ours, away from those that are there already."""
    kinds = ("after", "before", "after", "before", "first", "last", "replace", "delete", *INSIDE, *BY_DIFF, *FILES)
    place = dice.pick((*kinds, "clause"))
    if place == "new-file":
        return Ours(place, nodes=[simple(dice), function(dice, 1)], path=f"pkg/ours_{dice.label()}.py")
    if place == "text":
        chosen = dice.pick(tree.texts["pkg/data.txt"])
        return Ours(place, chosen.label, path="pkg/data.txt", text=dice.pick(("before", "")), by_diff=True)
    if place == "import":
        node = Node(dice.label(), f"import ours_{dice.label()}")
        return Ours(place, nodes=[node], path="pkg/main.py", to=tree.files["pkg/main.py"].label)
    options = [w for w in walk(tree) if _wanted(place, w) and not taken & _around(w)]
    if not options:
        return None
    where = dice.pick(options)
    taken |= _around(where)
    made = Ours(place, where.node.label, by_diff=place in BY_DIFF)
    _fill(dice, made, where)
    return made


def _around(where: Where) -> set[int]:
    """Labels that two changes of ours must not share, so that their order means nothing."""
    body, index = where.body, where.index
    beside = {body[i].label for i in range(max(index - 1, 0), min(index + 2, len(body)))}
    return beside | {n.label for n in where.above} | {n.label for block in where.node.blocks for n in block.body}


def _wanted(place: str, where: Where) -> bool:
    node = where.node
    if case(node) or (fixed(node) and place not in ("before",)) or node.text.startswith(('"""', "from __future__")):
        return False
    if place in ("replace", "delete"):
        return inner(where) and (len(where.body) > 1 or place == "replace")
    if place in ("first", "last"):
        return bool(node.blocks) and not case(node.body[0]) and node.kind != "compound"
    if place == "clause":
        return node.kind == "compound" and node.blocks[0].head.startswith("if ")
    if place == "element":
        return inner(where) and node.post in ("]", "}")
    if place == "argument":
        return inner(where) and node.post == ")" and bool(node.items)
    if place == "parameter":
        return node.kind == "def"
    if place == "base":
        return node.kind == "class"
    if place == "item":
        return inner(where) and bool(node.items)
    if place == "head":
        return node.kind == "compound" and node.blocks[0].head.startswith("if ")
    if place == "after":
        return loose(where) and not (scope(where) and "overload" in node.decorators)
    return loose(where) or node.text.startswith("return")


def _fill(dice: Dice, made: Ours, where: Where) -> None:
    node, label = where.node, dice.label()
    if made.place in ("before", "after", "replace"):
        made.nodes = lines(dice, where)
    elif made.place in ("first", "last"):
        made.nodes = lines(dice, Where(where.path, node.body, 0, (*where.above, node)))
    elif made.place == "clause":
        made.text = f"elif ours_{label}:" if node.blocks[-1].head == "else:" or dice.below(2) else "else:"
        made.nodes = [simple(dice)]
    elif made.place == "head":
        made.text = node.blocks[0].head.removesuffix(":") + f" and ours_{label}:"
    elif made.place == "item":
        item = dice.pick(node.items or [])
        made.to, key = item.label, item.text.partition("=")[0] if "=" in item.text else item.text.partition(": ")[0]
        sign = "=" if "=" in item.text else ": " if ": " in item.text else ""
        made.text = f"{key}{sign}ours_{label}" if sign else f"ours_{label}"
    elif made.place in INSIDE:
        text = f'"o{label}": 1' if node.post == "}" else f'"o{label}"'
        if made.place != "element":
            text = f"ours_{label}"
        default = "1" if made.place in ("argument", "parameter") else ""
        made.item = Item(label, text, default=default)


def gaps(base: Tree, ours: Ours) -> tuple[int, int, int, int]:
    """Between which statements ours stand."""
    where = _at(base, ours.label)
    if ours.place in ("first", "last"):
        body, node = where.node.body, where.node
        at = len(body) if ours.place == "last" else int(body[0].text.startswith('"""'))
        before, after = body[at - 1].label if at else 0, body[at].label if at < len(body) else 0
        return before, after, node.label, 0
    at = where.index + (ours.place == "after")
    before = where.body[at - 1].label if at else 0
    after = where.body[at].label if at < len(where.body) else 0
    owner = where.above[-1] if where.above else None
    block = next((i for i, b in enumerate(owner.blocks) if b.body is where.body), 0) if owner else 0
    return before, after, owner.label if owner else 0, block


def labels(tree: Tree) -> Iterator[int]:
    for where in walk(tree):
        yield where.node.label
