"""Classes out of tables: the key that found one decides tests on the expression that was the key.

After `kind = pick(cfg.name)`, where `pick` gives an element of a table, a class that stands in the table under "a" is
not what `if cfg.name == "b": kind()` builds.
"""

from __future__ import annotations

from rebasekit.checks.reach.flow import Sink
from rebasekit.checks.reach.guards import decide
from rebasekit.checks.reach.targets import Targets
from rebasekit.facts.query import Facts
from rebasekit.facts.records import Ref


class Keys:
    """Answers for one tree."""

    def __init__(self, facts: Facts, targets: Targets) -> None:
        self.facts = facts
        self.targets = targets

    def allow(self, sink: Sink, key: str | None) -> bool:
        """Whether a call of what `key` found may happen, as far as the tests around it tell."""
        asked = self._asked(sink) if key is not None else None
        if asked is None:
            return True
        known, plain = ({asked: key}, {}) if "." in asked else ({}, {asked: key})
        guards = self.facts.program.file_of(sink.scope).guards(sink.guard)
        return all(decide(guard, known, plain) is not False for guard in guards)

    def _asked(self, sink: Sink) -> str | None:
        """The expression under which the called variable was looked up, if there is exactly one."""
        callee = sink.call.callee if sink.call is not None else None
        if not isinstance(callee, str):
            return None
        body = self.facts.program.body(sink.scope)
        variable = callee.partition(".")[0]
        found: set[Ref] = set()
        for assign in body.assigns:
            if assign.target == variable and isinstance(assign.value, tuple) and assign.value[0] == "r":
                for call in body.calls:
                    if (
                        call.line == assign.line
                        and call.callee == assign.value[1]
                        and self._looks_up(sink, call.callee)
                    ):
                        found.update(call.args if len(call.args) == 1 and not call.keywords else (None,))
        (asked,) = found if len(found) == 1 else (None,)
        return asked if isinstance(asked, str) and not any(a.target == asked for a in body.assigns) else None

    def _looks_up(self, sink: Sink, callee: Ref) -> bool:
        """Whether what is called gives an element of a table: a table's `get`, or a function that returns one."""
        if isinstance(callee, str) and callee.endswith(".get"):
            return True
        returns = [
            r.value for t in self.targets.of(sink.scope, callee) for r in self.facts.program.body(t.function).returns
        ]
        return any(_element(value) for value in returns)


def _element(value: Ref) -> bool:
    if not isinstance(value, tuple):
        return False
    return value[0] == "s" or (value[0] == "r" and isinstance(value[1], str) and value[1].endswith(".get"))
