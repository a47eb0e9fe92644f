"""Refusing to answer when a file that could change the answer was not read."""

from __future__ import annotations

from rebasekit.checks.reach.callers import Callers
from rebasekit.checks.reach.inits import INIT
from rebasekit.checks.reach.sites import Sites
from rebasekit.facts.query import Facts

_MOST = 60  # functions that nobody was seen to call, followed upwards


def missing_evidence(facts: Facts, callers: Callers, sites: Sites, definition: int) -> tuple[str, ...]:
    """Why a negative answer about a definition cannot be given; empty when every file that matters was read.

    An unread file matters when its text mentions the definition, or anything that leads to it and that nothing read
    was seen to run.
    """
    if not facts.unread:
        return ()
    names = _leading_to(facts, callers, sites, definition)
    return tuple(f"`{path}` mentions it and could not be read: {facts.unread[path]}" for path in
                 facts.unread_mentioning(names))  # fmt: skip


def _leading_to(facts: Facts, callers: Callers, sites: Sites, definition: int) -> set[str]:
    names: set[str] = set()
    queue, seen = [definition], {definition}
    while queue and len(seen) < _MOST:
        scope = queue.pop()
        names.add(facts.program.scope(scope).short or facts.program.file_of(scope).module.rpartition(".")[2])
        for above in _above(facts, callers, sites, scope):
            if above not in seen and facts.liveness(above) != "serving":
                seen.add(above)
                queue.append(above)
    return names


def _above(facts: Facts, callers: Callers, sites: Sites, scope: int) -> list[int]:
    """Scopes that build a class or call a function; for a constructor, its class."""
    if facts.is_class(scope):
        below = facts.hierarchy.subclasses(scope)
        return [*below, *(site.scope for site in sites.of(scope).sites)]
    if not facts.is_function(scope):
        return []
    receiver = facts.types.receiver(scope)
    owner = [receiver[1]] if receiver is not None else []
    if facts.program.scope(scope).short == INIT:
        return owner
    return [*owner, *(caller.scope for caller in callers.of(scope))]
