"""Random Python modules and random changes to them, and what a form makes of a file."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Sequence
from random import Random

from rebasekit.edit import places, script
from rebasekit.edit.match import candidates, matches
from rebasekit.edit.owned import Owned, Splice
from rebasekit.edit.patterns import parse_pattern
from rebasekit.edit.scopes import find, module_scope, walk
from rebasekit.edit.source import Source, split_lines
from rebasekit.model.hunk import Form, Place

# ---- what forms make ----


def splices_of(form: Form, source: Source) -> list[Splice]:
    """The form's splices; its scope and its anchor have to be unique."""
    (scope,) = find(source, form.scope)
    if form.place not in (Place.EDIT, Place.TEXT):
        found = matches(parse_pattern(form.at), scope) if form.at else []
        assert not form.at or len(found) == form.count
        return places.splices(form, source, scope, found)
    changes = script.parse(form.lines)
    if source.newline == "\r\n" and not form.keep_newlines:
        changes = tuple(script.Change(c.at, c.gone, tuple(li.replace("\n", "\r\n") for li in c.lines)) for c in changes)
    base = scope.first - 2
    return [Splice(source.starts[base + c.at], source.starts[base + c.at + c.gone], "".join(c.lines)) for c in changes]


def applied(forms: Sequence[Form], source: Source) -> str:
    """The text that the forms make, each on pristine text; taking them back gives the pristine text."""
    owned = Owned(source.text)
    for number, form in enumerate(forms):
        owned.splice_pristine(str(number), splices_of(form, source))
    assert owned.reversed() == source.text
    return owned.text


def placed(source: str | Source, place: str, lines: str = "", at: str = "", scope: str = "", **more: object) -> str:
    """The text after one form; what comes out is Python."""
    source = source if isinstance(source, Source) else Source(source)
    form = Form("a.py", scope, Place(place), at=at, lines=lines, **more)  # type: ignore[arg-type]
    text = applied([form], source)
    _ = source.with_text(text).tree
    return text


def parses(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


# ---- random modules ----

_NAMES = ("alpha", "beta", "gamma", "delta", "size", "größe", "x", "self.pool", "cfg.a.b")
_ATOMS = ("1", "None", "'s'", '"t"', "'ü☃'", "f'{x!r:>{size}}'", "b'\\x00'", "...", "lambda a, b=1: (a, b)", "-2.5")


class Writer:
    """Writes one module: every choice comes from `random`."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.unit = random.choice(("    ", "    ", "  ", "\t"))
        self.newline = random.choice(("\n", "\n", "\n", "\r\n"))

    def module(self, size: int) -> str:
        lines: list[str] = []
        if self.odds(0.3):
            lines += ["#!/usr/bin/env python", "# licence", ""]
        if self.odds(0.4):
            lines += ['"""Docstring', "of ü lines.", '"""'] if self.odds(0.5) else ["'''one line'''  # comment"]
        if self.odds(0.3):
            lines.append("from __future__ import annotations")
        lines += self.random.sample(
            ["import os", "from a.b import (", "import a.c as d; import e", "from .x import *"],
            self.random.randint(0, 3),
        )
        lines = [
            part
            for line in lines
            for part in ([line, "    c,  # why", "    d as e,", ")"] if line.endswith("(") else [line])
        ]
        lines += self.block("", size, 0)
        text = "\n".join(lines) + ("" if self.odds(0.15) else "\n")
        return text.replace("\n", self.newline)

    def odds(self, chance: float) -> bool:
        return self.random.random() < chance

    def name(self) -> str:
        return self.random.choice(_NAMES)

    def plain(self) -> str:
        return self.random.choice(("alpha", "beta", "gamma", "f", "g"))

    def value(self, depth: int = 0) -> str:
        kind = self.random.randint(0, 7 if depth < 2 else 1)
        if kind == 0:
            return self.random.choice(_ATOMS)
        if kind == 1:
            return self.name()
        if kind == 2:
            return f"({self.value(depth + 1)})"
        if kind == 3:
            return f"{self.value(depth + 1)} if {self.name()} else {self.value(depth + 1)}"
        items = [self.value(depth + 1) for _ in range(self.random.randint(0, 3))]
        items = [f"({item})" if "lambda" in item or " if " in item else item for item in items]
        if kind == 4:
            more = self.random.sample(["k=1", "*a", "**b"], self.random.randint(0, 1))
            return f"{self.plain()}({', '.join([*items, *more])})"
        if kind == 5:
            return f"[{', '.join(items)}{',' if items and self.odds(0.2) else ''}]"
        if kind == 6:
            return "{" + ", ".join(f"{n!r}: {item}" for n, item in enumerate(items)) + "}"
        return f"({', '.join(items)}, {self.name()})"

    def spread(self, indent: str, head: str, brackets: str) -> list[str]:
        """A statement with a list in brackets over several lines."""
        inner = indent + self.unit
        count = self.random.randint(1, 4)
        end = "" if self.odds(0.3) else ","
        lines = [f"{indent}{head}{brackets[0]}"]
        for index in range(count):
            item = f"{index}: {self.name()}" if brackets == "{}" else self.value(1)
            comma = "," if index < count - 1 else end
            lines.append(f"{inner}{item}{comma}{'  # note ü' if self.odds(0.25) else ''}")
            if self.odds(0.1):
                lines.append(self.random.choice(("", f"{inner}# alone", "# left")))
        if self.odds(0.15) and not lines[-1].endswith("#") and "#" not in lines[-1] and lines[-1].strip():
            lines[-1] += brackets[1]
        else:
            lines.append(f"{indent}{brackets[1]}")
        return lines

    def statement(self, indent: str) -> list[str]:
        kind = self.random.randint(0, 15)
        comment = "  # said, with (brackets" if self.odds(0.15) else ""
        if kind <= 3:
            return [f"{indent}{self.name()} = {self.value()}{comment}"]
        if kind == 4:
            return [f"{indent}{self.plain()}({self.value()}){comment}"]
        if kind == 5:
            return [f"{indent}{self.plain()}: int = {self.value()}"]
        if kind == 6:
            return [f"{indent}{self.name()} += {self.value()}"]
        if kind == 7:
            return self.spread(indent, f"{self.plain()} = {self.plain()}", "()")
        if kind == 8:
            return self.spread(indent, f"{self.plain()} = ", self.random.choice(("[]", "{}")))
        if kind == 9:
            return [f"{indent}{self.plain()} = '''first", "left of all", f"{indent}inside  ", f"{indent}last''' + x"]
        if kind == 10:
            return [f"{indent}{self.plain()}(f'''{{x}}", "  $HOME left", f"''', {self.value()})"]
        if kind == 11:
            return [f"{indent}if {self.name()}: {self.plain()}()"]
        if kind == 12:
            return [f"{indent}alpha = 1; beta = {self.value()}{comment}"]
        if kind == 13:
            return [f"{indent}gamma = 1 + \\", f"{indent}    2{comment}"]
        if kind == 14:
            return [f"{indent}import {self.plain()}"]
        return [f"{indent}assert {self.value()}"]

    def block(self, indent: str, size: int, depth: int) -> list[str]:
        lines: list[str] = []
        for _ in range(self.random.randint(1, size)):
            if self.odds(0.2):
                lines += self.random.choice(
                    ([""], ["", ""], [f"{indent}# a comment"], ["# left"], ["    "], [f"{indent}\t"])
                )
            lines += self.compound(indent, size, depth) if depth < 3 and self.odds(0.45) else self.statement(indent)
        return lines

    def compound(self, indent: str, size: int, depth: int) -> list[str]:
        kind, size = self.random.randint(0, 7), max(1, size - 1)

        def body() -> list[str]:
            return self.block(indent + self.unit, size, depth + 1)

        if kind <= 1:
            marks = [
                f"{indent}@{d}"
                for d in self.random.sample(["property", " deco(1)", "f.setter"], self.random.randint(0, 2))
            ]
            word = self.random.choice(("def", "def", "async def"))
            doc = [f'{indent}{self.unit}"""Doc.', "", f'{indent}{self.unit}more ü"""'] if self.odds(0.3) else []
            head = self.random.choice(("(self)", "(self, a, /, b: int = 1, *, c=(2, 3), **kw) -> None", "()", "(*a)"))
            if self.odds(0.2):
                head = f"(\n{indent}{self.unit}self,\n{indent}{self.unit}a,  # ü\n{indent})"
            return [*marks, *f"{indent}{word} {self.plain()}{head}:".split("\n"), *doc, *body()]
        if kind == 2:
            head = self.random.choice(("", "()", "(Base)", "(a.Base, metaclass=Meta)"))
            return [f"{indent}class {self.plain().title()}{head}:", *body()]
        if kind == 3:
            lines = [f"{indent}if {self.value()}:", *body()]
            for _ in range(self.random.randint(0, 2)):
                lines += [f"{indent}elif {self.value()}:  # else", *body()]
            return lines + ([f"{indent}else:", *body()] if self.odds(0.4) else [])
        if kind == 4:
            lines = [f"{indent}try:", *body(), f"{indent}except (A, B) as e:", *body()]
            lines += [f"{indent}else:", *body()] if self.odds(0.3) else []
            return lines + ([f"{indent}finally:", *body()] if self.odds(0.3) else [])
        if kind == 5:
            return [f"{indent}for x in {self.value(1)}:", *body()]
        if kind == 6:
            return [f"{indent}with (a as b, f(1) as c):", *body()]
        case = indent + self.unit
        return [
            f"{indent}match {self.name()}:",
            f"{case}case 1 | 2:",
            f"{case}{self.unit}pass",
            f"{case}case _:",
            f"{case}{self.unit}pass",
        ]


def module(seed: int, size: int) -> str:
    """A module that parses; the same for the same arguments."""
    random = Random(seed)
    while True:
        text = Writer(random).module(size)
        if parses(text):
            return text


# ---- random changes ----


def changed(text: str, random: Random, count: int) -> str:
    """The text after some changes, each of which leaves it Python."""
    for _ in range(count):
        new = random.choice(_CHANGES)(text, random)
        if parses(new):
            text = new
    return text


def _statements(text: str) -> list[tuple[int, int]]:
    """Lines of every statement, 0-based and half open."""
    scopes = walk(module_scope(Source(text)))
    return [(c.first - 1, c.last) for scope in scopes for c in candidates(scope)] or [(0, 0)]


def _piece(text: str, random: Random, start: int) -> list[str]:
    """Statements of a fresh kind at the indentation of a line."""
    lines = split_lines(text)
    line = lines[start] if start < len(lines) else ""
    indent = line[: len(line) - len(line.lstrip())].strip("\r\n")
    writer = Writer(random)
    newline = "\r\n" if "\r\n" in text and random.random() < 0.95 else "\n"
    return [
        f"{li}{newline}"
        for li in (writer.block(indent, 2, 2) if random.random() < 0.7 else writer.compound(indent, 2, 2))
    ]


def _insert(text: str, random: Random) -> str:
    lines, (start, end) = split_lines(text), random.choice(_statements(text))
    at = random.choice((start, end))
    return "".join(lines[:at] + _piece(text, random, start) + lines[at:])


def _delete(text: str, random: Random) -> str:
    lines, (start, end) = split_lines(text), random.choice(_statements(text))
    return "".join(lines[:start] + lines[end:])


def _replace(text: str, random: Random) -> str:
    lines, (start, end) = split_lines(text), random.choice(_statements(text))
    return "".join(lines[:start] + _piece(text, random, start) + lines[end:])


def _duplicate(text: str, random: Random) -> str:
    lines, (start, end) = split_lines(text), random.choice(_statements(text))
    return "".join(lines[:end] + lines[start:end] + lines[end:])


def _move(text: str, random: Random) -> str:
    lines, (start, end) = split_lines(text), random.choice(_statements(text))
    piece, rest = lines[start:end], lines[:start] + lines[end:]
    at = random.randint(0, len(rest))
    return "".join(rest[:at] + piece + rest[at:])


def _line(text: str, random: Random) -> str:
    lines = split_lines(text)
    at = random.randint(0, len(lines))
    new = random.choice(
        ("\n", "# ours\n", "    # ours\n", "import ours\n", "from ours import (\n    a,\n)\n", "\f\n", "x = 1\r")
    )
    return "".join([*lines[:at], new, *lines[at + random.choice((0, 0, 1)) :]])


def _within(text: str, random: Random) -> str:
    """Something put behind a bracket, a comma or an item: an argument, a parameter, an element, a base."""
    spots = [i + 1 for i, c in enumerate(text) if c in "([{,"] + [i for i, c in enumerate(text) if c in ")]}"]
    if not spots:
        return text
    at = random.choice(spots)
    new = random.choice(
        ("ours=1, ", " ours,", ", ours", "\n        ours,", "ours", "9: ours,", ", *, ours=2", ", mode='ü'")
    )
    return text[:at] + new + text[at:]


_CHANGES: tuple[Callable[[str, Random], str], ...] = (
    _insert, _insert, _delete, _replace, _duplicate, _move, _line, _within, _within, _within,
)  # fmt: skip
