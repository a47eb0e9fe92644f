"""Faults put into generated modules: each deleted import, parameter and assignment has to be found."""

from __future__ import annotations

import random

import pytest

from rebasekit.checks.unbound import compare


class Nothing:
    """The pristine tree: one file."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text

    def paths(self) -> set[str]:
        return {self.path}

    def read(self, path: str) -> bytes | None:
        return self.text.encode() if path == self.path else None

    def holding(self, text: str) -> list[str]:
        return [self.path] if text in self.text else []


def module(seed: int) -> tuple[list[str], list[tuple[int, str, str]]]:
    """Lines of a module, and faults: line to change, its text afterwards, the name that is then missing."""
    rng = random.Random(seed)
    lines = ["from __future__ import annotations", "import os", "from m import helper, other  # imports", ""]
    faults = [(1, "", "os"), (2, "from m import other", "helper")]
    for number in range(4):
        a, b, c = (f"{word}{number}" for word in ("left", "right", "total"))
        indent = "    " if rng.random() < 0.5 else ""
        if indent:
            lines.append(f"class K{number}:")
        me = "self, " if indent else ""
        faults.append((len(lines), f"{indent}def f{number}({me}{a}) -> Unknown{number}:", b))
        lines.append(f"{indent}def f{number}({me}{a}, {b}) -> Unknown{number}:")
        faults.append((len(lines), f"{indent}    helper({a})", c))
        lines.append(f"{indent}    {c} = helper({a})")
        shapes = [
            [f"if {a}:", f"    return [{c} + x for x in {b}]", f"return os.path.join({c})"],
            [f"for item in {b}:", f"    {c} += item", f"return {c}, os"],
            ["try:", f"    return {c}[{b}]", "except KeyError:", "    return os, helper"],
            [f"with other({b}) as handle:", f"    return lambda: (handle, {c}, os)"],
            [f"while {b}:", f"    if (n := {c}):", "        return n, os", "    break", "return 0"],
        ]
        lines += [f"{indent}    {line}" for line in rng.choice(shapes)] + [""]
    return lines, faults


@pytest.mark.parametrize("seed", range(8))
def test_every_fault_is_found(seed: int) -> None:
    lines, faults = module(seed)
    tree = Nothing("m.py", "\n".join(lines) + "\n")
    assert compare({"m.py": b"# new\n" + tree.text.encode()}, tree) == [], "without a fault there is nothing to say"
    for line, text, name in faults:
        changed = [*lines[:line], text, *lines[line + 1 :]]
        found = compare({"m.py": ("\n".join(changed) + "\n").encode()}, tree)
        assert {one.name for one in found} == {name}, (text, found)
