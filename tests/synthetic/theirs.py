"""What upstream does to a tree between two releases: each change on the model, so that every label stays true."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from synthetic.grow import Dice, adorn, compound, function, klass, simple
from synthetic.model import Block, File, Item, Line, Node, Tree, Where, canon, find, fresh, walk


@dataclass
class Upstream:
    """The new tree while it is made; `near` are the statements around which most changes happen."""

    dice: Dice
    tree: Tree
    near: list[int]
    lines: list[int] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)  # what was deleted is not made again: that would be a move
    copied: set[str] = field(default_factory=set)  # and what was copied is not deleted
    torn: dict[int, int] = field(default_factory=dict)  # scopes that were copied, and their twins
    done: list[str] = field(default_factory=list)

    def places(self, want: Callable[[Where], bool] = lambda where: True) -> list[Where]:
        """Statements that fit, by preference some near the hunks."""
        every = [where for where in walk(self.tree) if not case(where.node) and want(where)]
        if self.dice.one_in(4):
            return every
        targets = [where for label in self.near if (where := find(self.tree, label))]
        close = [w for w in every for t in targets if w.body is t.body or w.node in t.above or t.node in w.above]
        return close or every

    def one(self, want: Callable[[Where], bool] = lambda where: True) -> Where | None:
        options = self.places(want)
        return self.dice.pick(options) if options else None


def case(node: Node) -> bool:
    """A `case` of a `match`: no statement."""
    return node.kind == "compound" and node.blocks[0].head.startswith("case ")


def fixed(node: Node) -> bool:
    """What has to stay where it is: docstrings and imports from the future."""
    return node.text.startswith(('"""', "from __future__", "return"))


def loose(where: Where) -> bool:
    return not fixed(where.node) and not case(where.node)


def inner(where: Where) -> bool:
    """A statement that is no definition."""
    return loose(where) and where.node.kind in ("simple", "compound")


def scope(where: Where) -> bool:
    return where.node.kind in ("def", "class")


def texts(node: Node) -> set[str]:
    """Everything that a statement is made of, to compare with what was deleted."""
    made = {canon(node)}
    for block in node.blocks:
        for each in block.body:
            made |= texts(each)
    return made


def remove(where: Where) -> Node:
    """Take a statement out; a block that gets empty keeps a `pass` of its own."""
    node = where.body.pop(where.index)
    if not where.body and where.above:
        where.body.append(Node(-node.label, "pass"))
    return node


def renamed(text: str, old: str, new: str) -> str:
    return re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", new, text)


# ---- the changes ----


def add_statement(up: Upstream) -> bool:
    where = up.one(loose)
    if where is None:
        return False
    made = compound(up.dice, 1) if up.dice.one_in(4) else simple(up.dice)
    adorn(up.dice, made)
    where.body.insert(where.index + up.dice.below(2), made)
    return True


def remove_statement(up: Upstream) -> bool:
    where = up.one(lambda w: inner(w) and not texts(w.node) & up.copied)
    if where is None:
        return False
    up.gone |= texts(where.node)
    remove(where)
    return True


def change_statement(up: Upstream) -> bool:
    """Another argument, value or condition in a statement that stays."""
    where = up.one(lambda w: inner(w) and bool(w.node.items or w.node.blocks))
    if where is None:
        return False
    node = where.node
    if node.blocks:
        block = up.dice.pick(node.blocks)
        if not block.head.startswith(("if ", "elif ", "while ")):
            return False
        block.head = block.head.removesuffix(":") + f" and more_{up.dice.label()}:"
        return True
    assert node.items
    item = up.dice.pick(node.items)
    key, sign, _ = item.text.partition("=") if "=" in item.text else item.text.partition(": ")
    item.text = f"{key}{sign}new_{up.dice.label()}" if sign else f"new_{up.dice.label()}"
    return True


def grow_statement(up: Upstream) -> bool:
    """Another argument or element at the end."""
    where = up.one(lambda w: inner(w) and bool(w.node.items))
    if where is None:
        return False
    node, label = where.node, up.dice.label()
    assert node.items
    text = f"more_{label}=1" if node.post == ")" else f'"m{label}": 1' if node.post == "}" else f'"m{label}"'
    node.items.append(Item(label, text))
    return True


def move_statement(up: Upstream) -> bool:
    where = up.one(lambda w: inner(w) and len(w.body) > 1)
    if where is None:
        return False
    node = where.body.pop(where.index)
    low = 1 if where.body and fixed(where.body[0]) else 0
    high = len(where.body) - (1 if where.body and where.body[-1].text.startswith("return") else 0)
    where.body.insert(low + up.dice.below(max(high - low, 0) + 1), node)
    return True


def move_scope(up: Upstream) -> bool:
    """A definition before or behind others of its level."""
    where = up.one(lambda w: scope(w) and len(w.body) > 1 and not w.node.decorators)
    if where is None:
        return False
    node = where.body.pop(where.index)
    low = next((i for i, n in enumerate(where.body) if n.kind in ("def", "class")), len(where.body))
    where.body.insert(low + up.dice.below(len(where.body) - low + 1), node)
    return True


def rename_scope(up: Upstream) -> bool:
    where = up.one(lambda w: scope(w) and w.node.label not in up.torn)
    if where is None:
        return False
    old, new = where.node.name, up.dice.name()
    twins = [w for w in walk(up.tree) if scope(w) and w.node.name == old]
    for each in twins:
        each.node.name = new
        each.node.decorators = [renamed(d, old, new) for d in each.node.decorators]
    return True


def delete_scope(up: Upstream) -> bool:
    where = up.one(lambda w: scope(w) and not texts(w.node) & up.copied)
    if where is None or where.node.decorators == ["property"]:
        return False
    up.gone |= texts(where.node)
    remove(where)
    return True


def copy_scope(up: Upstream) -> bool:
    """A twin under another name."""
    where = up.one(lambda w: scope(w) and not texts(w.node) & up.gone and not w.node.decorators)
    if where is None:
        return False
    made = fresh([where.node], up.dice.labels)[0]
    made.name = up.dice.name()
    up.copied |= texts(made)
    up.torn[where.node.label] = made.label
    where.body.insert(where.index + up.dice.below(2), made)
    return True


def add_scope(up: Upstream) -> bool:
    where = up.one(lambda w: scope(w) and not w.above)
    if where is None:
        return False
    where.body.insert(where.index + up.dice.below(2), function(up.dice, 1) if up.dice.below(2) else klass(up.dice))
    return True


def to_other_file(up: Upstream) -> bool:
    """A definition of the module goes to another file, new or there already."""
    where = up.one(lambda w: scope(w) and not w.above and not w.node.decorators and w.node.label not in up.torn)
    if where is None:
        return False
    node = where.body.pop(where.index)
    path = up.dice.pick(("pkg/parts.py", "pkg/other.py"))
    if path == where.path:
        path = "pkg/parts.py"
    if path not in up.tree.files:
        up.tree.files[path] = File([Node(up.dice.label(), f"import mod_{up.dice.label()}")])
    body = up.tree.files[path].body
    if any(n.name == node.name for n in body):
        where.body.insert(where.index, node)
        return False
    body.insert(up.dice.below(len(body) + 1) if body[0].kind != "simple" else len(body), node)
    return True


def rename_file(up: Upstream) -> bool:
    path = up.dice.pick(sorted(up.tree.files))
    new = f"pkg/sub/{path.rpartition('/')[2].removesuffix('.py')}_{up.dice.label()}.py"
    up.tree.files[new] = up.tree.files.pop(path)
    return True


def wrap(up: Upstream) -> bool:
    """Some statements go under a condition, a lock or a `try`."""
    where = up.one(inner)
    if where is None:
        return False
    last = where.index + 1
    while last < len(where.body) and last - where.index < 3 and inner(Where("", where.body, last, ())):
        last += 1
    last = where.index + 1 + up.dice.below(last - where.index)
    label = up.dice.label()
    heads = up.dice.pick(([f"if on_{label}:"], [f"with lock_{label}:"], ["try:", f"except E_{label}:"]))
    blocks = [Block(heads[0], where.body[where.index : last])]
    blocks += [Block(head, [simple(up.dice)]) for head in heads[1:]]
    where.body[where.index : last] = [Node(label, kind="compound", blocks=blocks)]
    return True


def unwrap(up: Upstream) -> bool:
    """What stood in the first block of a compound statement stands in its place."""
    where = up.one(lambda w: w.node.kind == "compound" and loose(w) and not case(w.node.body[0]))
    if where is None:
        return False
    for block in where.node.blocks[1:]:
        for each in block.body:
            if texts(each) & up.copied:
                return False
            up.gone |= texts(each)
    where.body[where.index : where.index + 1] = where.node.body
    return True


def extract(up: Upstream) -> bool:
    """Statements of a function become a function of their own, which is called where they stood."""
    where = up.one(lambda w: inner(w) and w.scope is not None and w.scope.kind == "def" and len(w.scopes) == 1)
    if where is None or where.above[0].kind != "def":
        return False
    last = where.index + 1
    while last < len(where.body) and inner(Where("", where.body, last, ())):
        last += 1
    last = where.index + 1 + up.dice.below(last - where.index)
    run, name = where.body[where.index : last], up.dice.name()
    where.body[where.index : last] = [Node(up.dice.label(), pre=f"{name}(", post=")", items=[])]
    made = Node(up.dice.label(), kind="def", name=name, items=[], blocks=[Block("", run)])
    home = up.tree.files[where.path].body
    home.insert(home.index(where.above[0]) + up.dice.below(2), made)
    return True


def grow_signature(up: Upstream) -> bool:
    where = up.one(lambda w: w.node.kind == "def")
    if where is None or where.node.items is None:
        return False
    label = up.dice.label()
    items = where.node.items
    if up.dice.below(2):
        items.append(Item(label, f"extra_{label}", default="None"))
    else:
        at = next((i for i, item in enumerate(items) if item.default), len(items))
        items.insert(at, Item(label, f"extra_{label}"))
    return True


def rename_local(up: Upstream) -> bool:
    """A name, everywhere in a function."""
    where = up.one(lambda w: w.node.kind == "simple" and w.scope is not None and " = " in (w.node.pre or w.node.text))
    if where is None or where.scope is None:
        return False
    old = (where.node.pre or where.node.text).partition(" = ")[0]
    new = up.dice.name()
    for each in (w.node for w in walk(up.tree) if where.scope in w.above):
        each.text, each.pre = renamed(each.text, old, new), renamed(each.pre, old, new)
        for item in each.items or ():
            item.text = renamed(item.text, old, new)
        for block in each.blocks:
            block.head = renamed(block.head, old, new)
    return True


def to_async(up: Upstream) -> bool:
    where = up.one(lambda w: w.node.kind == "def")
    if where is None:
        return False
    where.node.word = "def" if where.node.word != "def" else "async def"
    return True


def redecorate(up: Upstream) -> bool:
    where = up.one(
        lambda w: w.node.kind in ("def", "class") and w.node.decorators[:1] not in (["property"], ["overload"])
    )
    if where is None or any(d.endswith(".setter") for d in where.node.decorators):
        return False
    where.node.decorators = [] if where.node.decorators and up.dice.below(2) else [f"wrap_{up.dice.label()}"]
    return True


def type_hints(up: Upstream) -> bool:
    where = up.one(lambda w: w.node.kind == "def" or " = " in (w.node.pre if w.node.items else w.node.text))
    if where is None or (where.node.kind == "simple" and "+=" in where.node.line()):
        return False
    where.node.note = f"Kind{up.dice.label()}"
    for item in where.node.items or () if where.node.kind == "def" else ():
        if item.text.isidentifier() and item.text != "self":
            item.note = item.note or f"list[T{up.dice.label()}]"
    return True


def comments(up: Upstream) -> bool:
    where = up.one(loose)
    if where is None:
        return False
    if where.node.comments and up.dice.below(2):
        where.node.comments = []
    else:
        where.node.comments = [*where.node.comments, f"because {up.dice.label()}"]
    return True


def layout(up: Upstream) -> bool:
    """Lists on one line or on several, blank lines, comments at the end of a line."""
    where = up.one(loose)
    if where is None:
        return False
    node = where.node
    if node.items:
        node.spread, node.trail = not node.spread, ""
    elif node.kind == "simple" and "\n" not in node.line():
        node.trail = "" if node.trail else f"note {up.dice.label()}"
    node.blank = 1 - node.blank
    return True


def reformat(up: Upstream) -> bool:
    """The whole file in another style."""
    file = up.tree.files[up.dice.pick(sorted(up.tree.files))]
    kind = up.dice.below(5)
    if kind == 0:
        file.indent = "  " if file.indent != "  " else "    "
    elif kind == 1:
        file.newline = "\n" if file.newline != "\n" else "\r\n"
    elif kind == 2:
        file.bom = not file.bom
    elif kind == 3:
        file.final = not file.final
    else:
        for where in walk(Tree({"": file})):
            where.node.spread = bool(where.node.items) and not where.node.trail
    return True


def swap_guard(up: Upstream) -> bool:
    """`if x: a else: b` becomes `if not x: b else: a`."""
    where = up.one(lambda w: w.node.kind == "compound" and [b.head[:3] for b in w.node.blocks] == ["if ", "els"])
    if where is None:
        return False
    one, other = where.node.blocks
    one.body, other.body = other.body, one.body
    one.head = f"if not {one.head[3:-1]}:"
    return True


def data_lines(up: Upstream) -> bool:
    """A text file: a line comes, goes or changes."""
    path = next(iter(up.tree.texts), None)
    if path is None:
        return False
    lines, label = up.tree.texts[path], up.dice.label()
    at = next((i for i, line in enumerate(lines) if line.label in up.lines), 0) if up.dice.below(2) else None
    at = up.dice.below(len(lines)) if at is None else min(max(at + up.dice.below(5) - 2, 0), len(lines) - 1)
    kind = up.dice.below(3)
    if kind == 0:
        lines.insert(at, Line(label, f"added {label}"))
    elif kind == 1 and len(lines) > 1:
        del lines[at]
    else:
        lines[at].text = f"changed {label}"
    return True


CHANGES: tuple[Callable[[Upstream], bool], ...] = (
    add_statement,
    comments,
    layout,
    remove_statement,
    change_statement,
    grow_statement,
    type_hints,
    move_statement,
    wrap,
    unwrap,
    rename_scope,
    move_scope,
    copy_scope,
    delete_scope,
    add_scope,
    to_other_file,
    rename_file,
    extract,
    grow_signature,
    rename_local,
    to_async,
    redecorate,
    swap_guard,
    reformat,
    data_lines,
)


def release(up: Upstream, most: int = 4) -> Upstream:
    """Some changes, one after the other."""
    for _ in range(1 + up.dice.below(most)):
        change = up.dice.pick(CHANGES)
        if change(up):
            up.done.append(change.__name__)
    return up


def undecided(base: Tree, new: Tree, torn: dict[int, int], label: int, *, around: bool = False) -> str:
    """Whether nobody can say which of two scopes is the old one: `twins` that are the same, or `alike`; else empty.

    `around` asks for the scopes around a statement only, when the change does not hang on the statement alone.
    """
    was, now = find(base, label), find(new, label)
    if was is None or now is None:
        return ""
    names = {n.label: n.name for n in (*was.scopes, was.node)}
    for node in now.scopes if around else (*now.scopes, now.node):
        if node.name == names.get(node.label, ""):
            continue  # it kept its name, and the twin has another
        twin = find(new, torn[node.label]) if node.label in torn else None
        if twin is not None:
            one, other = (canon(n).replace(n.name, "", 1) for n in (node, twin.node))
            return "twins" if one == other else "alike"
    return ""
