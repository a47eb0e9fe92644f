"""Modules out of nothing: everything that Python files are made of, each statement unlike the others."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from synthetic.model import Block, File, Item, Line, Node, Tree

T = TypeVar("T")
WORDS = ("load", "size", "pool", "cache", "größe", "limit", "key", "batch", "名前", "state", "price", "depth")
EDGES = ("if", "if else", "if else", "for", "while", "with", "try", "match", "elif")


@dataclass
class Dice:
    """Choices, made by hypothesis or by a seed: `draw(n)` is a number below n, small ones being the simple ones."""

    draw: Callable[[int], int]
    labels: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def below(self, count: int) -> int:
        return self.draw(count) if count > 1 else 0

    def pick(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def one_in(self, count: int) -> bool:
        return self.below(count) == count - 1

    def label(self) -> int:
        return next(self.labels)

    def name(self) -> str:
        label = self.label()
        return f"{WORDS[label * 7 % len(WORDS)]}_{label}"


def simple(dice: Dice) -> Node:
    """A statement of one line, or of a few."""
    name, label = dice.name(), dice.label()
    kind = dice.below(12)
    if kind in (0, 1, 2):
        items = [Item(dice.label(), text) for text in (dice.name(), f"{dice.label()}", f"key={dice.label()}")]
        pre = f"{name} = make_{label}(" if kind else f"self_{label}.{name}("
        return Node(label, pre=pre, post=")", items=items[: 1 + dice.below(3)], spread=dice.one_in(3))
    if kind in (3, 4):
        pairs = [f'"k{dice.label()}": {label}' if kind == 3 else f'"é{dice.label()}"' for _ in range(1 + dice.below(4))]
        sides = "{}" if kind == 3 else "[]"
        items = [Item(dice.label(), pair) for pair in pairs]
        return Node(label, pre=f"{name} = {sides[0]}", post=sides[1], items=items, spread=dice.one_in(2))
    texts = [
        f"{name} = {label}",
        f"{name} += step_{label}",
        f'log.info(f"{{{name}!r:>{label % 9}}} ünd {{len({name})}}")',
        f'{name} = """\n  kept {label}\n as it is\n"""',
        f"assert {name}, {label}",
        f"{name} = [x for x in range({label}) if (y := x) > 1]",
        f"del {name}[{label}], rest_{label}",
    ]
    return Node(label, texts[kind - 5])


def compound(dice: Dice, depth: int) -> Node:
    name, label = dice.name(), dice.label()
    heads = {
        "if": [f"if {name}:"],
        "if else": [f"if {name} > {label}:", "else:"],
        "for": [f"for i_{label} in {name}:"],
        "while": [f"while {name}():"],
        "with": [f"with lock_{label}({name}) as held_{label}:"],
        "try": ["try:", f"except Error_{label}:", "finally:"],
        "match": [f"match {name}:"],
        "elif": [f"if {name}:", f"elif {name}_{label}:", "else:"],
    }
    kind = dice.pick(EDGES)
    if kind == "match":
        cases = [
            Node(dice.label(), kind="compound", blocks=[Block(f"case {n}:", some(dice, depth, 2))]) for n in (1, 2)
        ]
        cases[-1].blocks[0].head = "case _:"
        return Node(label, kind="compound", blocks=[Block(f"match {name}:", cases)])
    return Node(label, kind="compound", blocks=[Block(head, some(dice, depth, 2)) for head in heads[kind]])


def some(dice: Dice, depth: int, most: int) -> list[Node]:
    return [statement(dice, depth) for _ in range(1 + dice.below(most))]


def statement(dice: Dice, depth: int) -> Node:
    node = compound(dice, depth - 1) if depth and dice.one_in(4) else simple(dice)
    adorn(dice, node)
    return node


def adorn(dice: Dice, node: Node) -> None:
    """Comments and blank lines, which say nothing."""
    if dice.one_in(6):
        node.comments.append(f"why {node.label}")
    if dice.one_in(8) and node.kind == "simple" and not node.spread and "\n" not in node.line():
        node.trail = f"see {node.label}"
    if dice.one_in(6):
        node.blank = 1


def function(dice: Dice, depth: int = 2, *, method: bool = False) -> Node:
    items = [Item(dice.label(), "self")] if method else []
    items += [Item(dice.label(), dice.name()) for _ in range(dice.below(3))]
    if dice.one_in(3):
        items.append(Item(dice.label(), dice.name(), default=str(dice.label())))
    body = some(dice, depth, 5)
    if dice.one_in(4):
        body.insert(0, Node(dice.label(), f'"""Says {dice.label()}."""'))
    if dice.one_in(8):
        body.append(function(dice, 0))
    if dice.one_in(2):
        body.append(Node(dice.label(), f"return {dice.name()}"))
    made = Node(dice.label(), kind="def", name=dice.name(), items=items, blocks=[Block("", body)], blank=0)
    if dice.one_in(6):
        made.word = "async def"
    if dice.one_in(5):
        made.decorators.append(f"deco_{made.label}({made.label})")
    return made


def klass(dice: Dice) -> Node:
    body: list[Node] = []
    if dice.one_in(3):
        body.append(Node(dice.label(), f'"""A thing {dice.label()}."""'))
    body += some(dice, 0, 2)
    body += [function(dice, 1, method=True) for _ in range(1 + dice.below(3))]
    if dice.one_in(4):
        body += accessors(dice)
    for node in body[1:]:
        node.blank = 1 if node.kind == "def" else node.blank
    bases = [Item(dice.label(), dice.name()) for _ in range(dice.below(3))]
    return Node(dice.label(), kind="class", name=dice.name().title(), items=bases, blocks=[Block("", body)])


def accessors(dice: Dice) -> list[Node]:
    """A property with its setter: one name, two definitions."""
    name, value = dice.name(), Item(dice.label(), "value")
    getter = Node(dice.label(), kind="def", name=name, items=[Item(dice.label(), "self")], decorators=["property"])
    setter = Node(dice.label(), kind="def", name=name, items=[Item(dice.label(), "self"), value])
    setter.decorators = [f"{name}.setter"]
    for node in (getter, setter):
        node.blocks = [Block("", some(dice, 0, 3))]
    return [getter, setter]


def overloads(dice: Dice) -> list[Node]:
    name = dice.name()
    made = []
    for _ in range(3):
        items = [Item(dice.label(), "value", note=f"Kind{dice.label()}")]
        made.append(Node(dice.label(), kind="def", name=name, items=items, blocks=[Block("", some(dice, 0, 2))]))
    for node in made[:2]:
        node.decorators = ["overload"]
    made[2].items = [Item(dice.label(), "value")]
    return made


def twins(dice: Dice) -> Node:
    """One name under a guard and under its `else`, with bodies that are alike."""
    one = function(dice, 0)
    other = function(dice, 0)
    other.name, other.decorators, other.word = one.name, one.decorators, one.word
    if dice.one_in(2):  # the same statements but for one
        from synthetic.model import fresh

        other = fresh([one], dice.labels)[0]
        other.body.append(simple(dice))
    name = dice.name()
    return Node(dice.label(), kind="compound", blocks=[Block(f"if {name}():", [one]), Block("else:", [other])])


def module(dice: Dice) -> File:
    body: list[Node] = []
    if dice.one_in(4):
        body.append(Node(dice.label(), f'"""Module {dice.label()}."""'))
    if dice.one_in(6):
        body.append(Node(dice.label(), "from __future__ import annotations"))
    body += [
        Node(dice.label(), text) for text in (f"import mod_{dice.label()}", f"from pkg_{dice.label()} import name_1")
    ]
    body += some(dice, 1, 2)
    for _ in range(1 + dice.below(4)):
        kind = dice.below(9)
        if kind < 5:
            body.append(function(dice))
        elif kind < 7:
            body.append(klass(dice))
        elif kind == 7:
            body.append(twins(dice))
        else:
            body += overloads(dice)
    if dice.one_in(3):  # a look-alike of a function, unlike it in one statement
        from synthetic.model import fresh

        model = next((n for n in body if n.kind == "def"), None)
        if model is not None and model.decorators != ["overload"]:
            twin = fresh([model], dice.labels)[0]
            twin.name = dice.name()
            twin.body.insert(dice.below(len(twin.body) + 1), simple(dice))
            if not twin.body[0].text.startswith('"""'):
                body.append(twin)
    if dice.one_in(3):
        body += some(dice, 1, 2)
    file = File(body, final=not dice.one_in(6), label=dice.label())
    file.newline = dice.pick(("\n", "\n", "\n", "\r\n"))
    file.indent = dice.pick(("    ", "    ", "    ", "\t", "  "))
    file.bom, file.feed = dice.one_in(10), dice.one_in(10)
    return file


def tree(dice: Dice) -> Tree:
    files = {"pkg/main.py": module(dice)}
    if dice.one_in(2):
        files["pkg/other.py"] = File([function(dice, 0), klass(dice)], label=dice.label())
    lines = [Line(dice.label(), f"{'option' if n % 3 else '# section'} {dice.label()}") for n in range(12)]
    return Tree(files, {"pkg/data.txt": lines})
