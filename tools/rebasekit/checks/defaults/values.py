"""What a default is in one tree."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from rebasekit.checks.defaults.registries import entries_of, text_of
from rebasekit.checks.defaults.relied import Relied
from rebasekit.facts.query import Facts
from rebasekit.facts.records import Ref
from rebasekit.facts.syntax import expression

_GETTERS = ("getenv", "environ")
_VARIABLE = re.compile(r"getenv|environ|get_\w*env\w*$|env_var")


@dataclass(frozen=True)
class Value:
    """A default as source, and where it stands; `text` None when it is given without one."""

    text: str | None
    file: str
    line: int
    scope: str = ""

    @property
    def place(self) -> tuple[str, str]:
        """What is the same in another release."""
        return self.file, self.scope


class NotRead(Exception):
    """The file in which the default would stand could not be read."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path, self.reason = path, reason


def values(facts: Facts, relied: Relied) -> list[Value]:
    """Every place that gives the default; empty when nothing does. Raise NotRead for an unread file."""
    if relied.kind == "registry":
        return list(_table(facts, relied))
    if relied.parameter:
        return list(_parameter(facts, relied))
    if "." in relied.name:
        return list(_dotted(facts, relied))
    return _simple(facts, relied)


def _simple(facts: Facts, relied: Relied) -> list[Value]:
    found = list(_declared(facts, relied.last))
    if not found:
        found = list(_environment(facts, relied.name))
    if not found:
        found = list(_argument(facts, relied))
    if not found and facts.unread:
        path, reason = next(iter(facts.unread.items()))
        raise NotRead(path, reason)  # it may stand there
    return found


def _declared(facts: Facts, name: str, holders: tuple[int, ...] | None = None) -> Iterator[Value]:
    """Class bodies and modules that give the name a value."""
    for scope in facts.declarations(name) if holders is None else holders:
        path = facts.path(scope)
        if facts.settings.test_pattern.search(path):
            continue
        for assign in facts.program.body(scope).assigns:
            if assign.target == name and assign.text is not None and (text := given(assign.text)) is not READ:
                yield Value(text, path, assign.line, facts.program.scope(scope).name)


READ = "an environment variable without a default"


def given(text: str) -> str | None:
    """The default inside a declaration: a literal itself, or the argument of a descriptor or field.

    READ for a call that reads a variable whose default stands elsewhere: its first argument is the variable's name.
    """
    node = expression(text)
    if not isinstance(node, ast.Call):
        return text
    for keyword in node.keywords:
        if keyword.arg in ("default", "default_value", "default_factory"):
            return ast.unparse(keyword.value)
    if node.args and _VARIABLE.search(ast.unparse(node.func)) and isinstance(node.args[0], ast.Constant):
        return ast.unparse(node.args[1]) if len(node.args) > 1 else READ
    return ast.unparse(node.args[0]) if node.args else None


_Reads = dict[str, list[Value]]
# Whole trees of these are asked for one name after another.
_ENVIRONMENTS: WeakKeyDictionary[Facts, _Reads] = WeakKeyDictionary()


def _environment(facts: Facts, name: str) -> list[Value]:
    """`os.getenv("NAME", default)`, `os.environ.get(…)` and helpers that pass their argument on to them."""
    known = _ENVIRONMENTS.get(facts)
    if known is None:
        known = _ENVIRONMENTS[facts] = {}
        for variable, value in _environment_reads(facts):
            known.setdefault(variable, []).append(value)
    return known.get(name, [])


def _environment_reads(facts: Facts) -> Iterator[tuple[str, Value]]:
    direct = {scope for word in _GETTERS for scope in facts.mentions(word)}
    helpers = {facts.program.scope(s).short for s in direct if facts.program.scope(s).parameters}
    scopes = direct | {scope for helper in helpers for scope in facts.mentions(helper)}
    for scope in sorted(scopes):
        if facts.settings.test_pattern.search(facts.path(scope)):
            continue
        for call in facts.program.body(scope).calls:
            variable = text_of(call.args[0]) if call.args else None
            if variable is not None and _reads(call.callee, helpers):
                value = call.args[1] if len(call.args) > 1 else next((k[1] for k in call.keywords), None)
                yield variable, Value(_source(value), facts.path(scope), call.line)


def _reads(callee: Ref, helpers: set[str]) -> bool:
    if not isinstance(callee, str):
        return False
    return callee.endswith(("getenv", "environ.get")) or callee.rpartition(".")[2] in helpers


def _source(ref: Ref) -> str | None:
    if isinstance(ref, tuple) and ref and ref[0] == "v":
        return repr(ref[1])
    return ref if isinstance(ref, str) else None


def _argument(facts: Facts, relied: Relied) -> Iterator[Value]:
    """`parser.add_argument("--name", default=…)`."""
    flag = "--" + relied.last.replace("_", "-")
    for scope in facts.mentions("add_argument"):
        for call in facts.program.body(scope).calls:
            if ("v", flag) in call.args:
                value = next((ref for key, ref, _line in call.keywords if key == "default"), ("v", None))
                yield Value(_source(value), facts.path(scope), call.line)


def _resolve(facts: Facts, dotted: str) -> tuple[str, str] | None:
    """A dotted name as module and what is inside; a class may be named without its module."""
    parts = dotted.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        module = ".".join(parts[:cut])
        index = facts.program.modules.get(module)
        if index is not None:
            path = facts.program.paths[index]
            if path in facts.unread:
                raise NotRead(path, facts.unread[path])
            return module, ".".join(parts[cut:])
    return None


def _scopes(facts: Facts, dotted: str) -> list[int]:
    """Definitions of a dotted name, with or without its module."""
    place = _resolve(facts, dotted)
    if place is None:
        last = dotted.rpartition(".")[2]
        return [s for s in facts.definitions(last) if f".{facts.dotted(s)}".endswith(f".{dotted}")]
    first, _, rest = place[1].partition(".")
    found = [e for e in facts.resolver.module_member(place[0], first) if e.kind == "definition"]
    if not rest:
        return [e.scope for e in found]
    name, _, more = rest.partition(".")
    return [] if more else [m for e in found if facts.is_class(e.scope) for m in facts.method(e.scope, name)]


def _dotted(facts: Facts, relied: Relied) -> Iterator[Value]:
    place = _resolve(facts, relied.name)
    if place is not None and "." not in place[1]:
        index = facts.program.modules[place[0]]
        yield from _declared(facts, place[1], (facts.program.first[index],))
        return
    owner = relied.name.rpartition(".")[0]
    classes = [s for s in _scopes(facts, owner) if facts.is_class(s)]
    found: list[Value] = []
    for class_id in classes:
        for above in facts.hierarchy.order(class_id):
            found = list(_declared(facts, relied.last, (above,)))
            if found:
                break
        yield from found
    if classes and not found:
        # A class that is put together from others (upstream from v0.5.20 on): whoever declares the field.
        others = list(_declared(facts, relied.last))
        yield from others if len(others) == 1 else ()


def _parameter(facts: Facts, relied: Relied) -> Iterator[Value]:
    for scope in _scopes(facts, relied.name):
        head = facts.program.scope(scope)
        for parameter in head.parameters:
            if parameter.name == relied.parameter:
                yield Value(parameter.default, facts.path(scope), parameter.line)


def _table(facts: Facts, relied: Relied) -> Iterator[Value]:
    """What a table maps a key to: in its display, by an assignment to its element, or by a call that registers."""
    wanted = ast.literal_eval(relied.key) if relied.key[:1] in "\"'" else relied.key
    for entry in entries_of(facts, relied.name):
        if entry.key == wanted:
            yield Value(entry.chain, facts.path(entry.scope), entry.line)
