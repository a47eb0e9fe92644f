"""Hunks that stand on another hunk's lines."""

from __future__ import annotations

import ast

from rebasekit.edit import scopes
from rebasekit.edit.blocks import Unplaceable
from rebasekit.edit.match import Match, matches
from rebasekit.edit.owned import Overlap, Owned
from rebasekit.edit.patterns import PatternError, parse_pattern
from rebasekit.edit.presence import statements
from rebasekit.edit.scopes import Scope, first_line, last_line
from rebasekit.edit.source import Source, Unreadable
from rebasekit.model.hunk import Form, Hunk, Pin, Place
from rebasekit.model.placement import Outcome, Placement, Spot
from rebasekit.model.tag import Tag
from rebasekit.steps.trial import anchored, attempt


def place_on_ours(hunk: Hunk, form: Form, files: dict[str, Owned], tag: Tag) -> Placement | None:
    """Place a hunk on the lines of hunks before it; None when it does not stand there."""
    owned = files.get(form.file)
    if owned is None or form.place in (Place.EDIT, Place.TEXT, Place.NEW_FILE):
        return None
    try:
        source = Source(owned.text)
        found = scopes.find(source, form.scope)
        if len(found) != 1:
            return None
        scope, owners = found[0], owned.owners_of_line()
        fitting = tuple(m for m in _anchors(form, scope) if _ours(m.node, owners))
        if anchored(form) and len(fitting) != form.count:
            return None
        if not anchored(form) and scope.name and None in _owners(scope.first, scope.last, owners):
            return None
        trial = attempt(form, source, scope, fitting)
        before = scope.digest(source)
        owned.splice_current(hunk.name, trial.splices)
    except (Unreadable, Unplaceable, Overlap):
        return None
    line = fitting[0].node.lineno if fitting else scope.first
    same = form.pin is None or form.pin.scope == before
    return Placement(
        hunk.patch,
        hunk.id,
        Outcome.CARRIED if same else Outcome.SHIFTED,
        form,
        form.file,
        scope.label,
        spot=Spot(form.file, scope.label, line),
        depth=trial.depth,
        pin=Pin(tag.name, before, trial.anchor, trial.depth),
        method="on our own lines",
        decision="carried",
    )


def _anchors(form: Form, scope: Scope) -> list[Match]:
    return matches(parse_pattern(form.at), scope) if anchored(form) else []


def _owners(first: int, last: int, owners: list[set[str | None]]) -> set[str | None]:
    return set().union(*owners[first - 1 : last])


def _ours(node: object, owners: list[set[str | None]]) -> bool:
    return isinstance(node, ast.stmt) and None not in _owners(first_line(node), last_line(node), owners)


def retired(hunk: Hunk, form: Form, placements: list[Placement]) -> Placement | None:
    """A hunk whose anchor was in the lines of a hunk that no longer applies."""
    for placement in placements:
        if placement.outcome.applied or placement.form is None or placement.name == hunk.name:
            continue
        if _provides(placement.form, form):
            reason = f"anchored on a retired hunk: `{placement.name}` is {placement.outcome.value}"
            return Placement(hunk.patch, hunk.id, Outcome.MISSING, form, form.file, form.scope, reason, decision="due")
    return None


def _provides(other: Form, form: Form) -> bool:
    """Whether another hunk's lines hold this hunk's scope or anchor."""
    if other.place is Place.NEW_FILE:
        return other.file == form.file
    if other.file != form.file:
        return False
    body = statements(other.lines)
    tree = ast.Module(body, [])
    holder = Scope("", "", tree, 1, other.lines.count("\n") + 1)
    if form.at:
        try:
            return any(matches(parse_pattern(form.at), scope) for scope in scopes.walk(holder))
        except PatternError:
            return False
    tail = form.scope.rpartition(".")[2]
    return any(scope.name.rpartition(".")[2] == tail for scope in scopes.walk(holder) if scope.name)
