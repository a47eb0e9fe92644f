"""Whether a call can be a construction of a class, as far as the class's constructor tells."""

from __future__ import annotations

from rebasekit.checks.reach.inits import INIT
from rebasekit.facts.query import Facts
from rebasekit.facts.records import Call, spread


def fits(facts: Facts, class_id: int, call: Call) -> bool:
    """False when the arguments of `call` would raise: too many, too few, or a keyword that nobody takes.

    A class whose constructor is not in the tree, or is written twice, takes anything.
    """
    functions = facts.method(class_id, INIT)
    if len(functions) != 1 or facts.method(class_id, "__new__"):
        return True
    parameters = facts.program.scope(functions[0]).parameters[1:]
    kinds = {parameter.kind for parameter in parameters}
    positional = [p.name for p in parameters if p.kind in "op"]
    more = any(map(spread, call.args))
    if len(call.args) > len(positional) and "v" not in kinds and not more:
        return False
    given = {name for name, _ref, _line in call.keywords}
    if given - {None, *(p.name for p in parameters if p.kind in "pk")} and "w" not in kinds:
        return False
    if more or None in given:
        return True
    filled = given | set(positional[: len(call.args)])
    return all(p.default is not None or p.name in filled for p in parameters if p.kind in "opk")
