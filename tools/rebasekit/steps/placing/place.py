"""Place one hunk on a tag."""

from __future__ import annotations

from dataclasses import replace

from rebasekit.edit.source import Unreadable
from rebasekit.model.hunk import Place
from rebasekit.model.tag import Tag
from rebasekit.steps import moves
from rebasekit.steps.landing import Landing, Lost, follow, land
from rebasekit.steps.placing.edited import edited
from rebasekit.steps.placing.missed import lost_scope
from rebasekit.steps.placing.question import Placed, Question
from rebasekit.steps.placing.rivals import doubted
from rebasekit.steps.placing.structural import structural
from rebasekit.steps.placing.whole_files import delete_file, new_file


def place(question: Question, confirmed: moves.Moves) -> Placed:
    """Place a hunk on pristine text. Conflicts are answers; only Unreadable files raise."""
    if question.form.place is Place.NEW_FILE:
        return new_file(question)
    if question.form.place is Place.DELETE and not question.form.at:
        return delete_file(question)
    old = _old_landing(question)
    new = _new_landing(question, old, confirmed)
    if isinstance(new, Lost):
        return lost_scope(question, old, new)
    way = edited if question.form.place in (Place.EDIT, Place.TEXT) else structural
    placed = way(question, old, new)
    move = confirmed.find(question.form.file, question.form.scope, question.tag)
    if move and (new.file, new.scope.label) == (move.target.file, move.target.scope):
        return placed  # a person said so
    return doubted(question, old, placed)


def _old_landing(question: Question) -> Landing | None:
    """The scope at the pin; None when the hunk stands on lines that are not upstream's."""
    file, name = question.pinned()
    if question.form.place is Place.TEXT:
        return _text_landing(question, question.pin, file)
    try:
        found = land(question.trees, question.pin, file, name)
    except Unreadable:
        return None
    return found if isinstance(found, Landing) else None


def _text_landing(question: Question, tag: Tag, file: str) -> Landing | None:
    source = question.trees.text(tag, file)
    return Landing(file, source, moves.whole_file(source)) if source is not None else None


def _new_landing(question: Question, old: Landing | None, confirmed: moves.Moves) -> Landing | Lost:
    form, trees, tag = question.form, question.trees, question.tag
    move = confirmed.find(form.file, form.scope, tag)
    file, name = (move.target.file, move.target.scope) if move else (form.file, form.scope)
    if form.place is Place.TEXT:
        landing = _text_landing(question, tag, file)
        if landing is None and (other := trees.renamed(question.pin, tag, file)):
            landing = _text_landing(question, tag, other)
            landing = replace(landing, moved=True) if landing else None
        return landing or Lost(f"`{file}` is not in {tag}")
    found = land(trees, tag, file, name)
    if move and isinstance(found, Lost):  # a release from before the move
        move, found = None, land(trees, tag, form.file, form.scope)
    if isinstance(found, Lost) and question.pinned() != (file, name):  # where an earlier move had taken it
        found = land(trees, tag, *question.pinned())
    if isinstance(found, Landing):
        return replace(found, moved=bool(move))
    if found.ambiguous or old is None:
        return found
    followed = follow(trees, old, question.pin, tag)
    if isinstance(followed, Lost) and not followed.nearest:
        followed = replace(followed, nearest=found.nearest)
    return followed
