"""`edit` and `text`: a three-way merge places the changed lines, tokens give the second opinion."""

from __future__ import annotations

from dataclasses import replace

from rebasekit.edit.owned import Splice
from rebasekit.edit.scopes import digest
from rebasekit.edit.script import between, render
from rebasekit.edit.source import Unreadable, split_lines
from rebasekit.edit.tokens import as_lines, tokens
from rebasekit.model.hunk import Place
from rebasekit.model.placement import Outcome
from rebasekit.steps import crosscheck
from rebasekit.steps.crosscheck import Sides
from rebasekit.steps.landing import Landing
from rebasekit.steps.placing.conflicts import conflicting
from rebasekit.steps.placing.question import Placed, Question
from rebasekit.steps.placing.sides import applied, with_hunk
from rebasekit.steps.trial import parses


def edited(question: Question, old: Landing | None, new: Landing) -> Placed:
    """`edit` and `text`: the three-way merge places, tokens give the second opinion."""
    form = question.form
    ours = with_hunk(form, old)
    pinned = form.pin is None or old is None or form.pin.scope in ("", digest(old.scope.text(old.source)))
    if old is None or not isinstance(ours, str) or not pinned:
        return Placed(
            question.answer(Outcome.MISSING, f"the edit does not fit `{form.file}` at its pin {question.pin}")
        )
    base, theirs = old.scope.text(old.source), new.scope.text(new.source)
    sides = Sides(base, ours, theirs)
    if base != theirs and crosscheck.upstreamed(sides):
        return Placed(question.answer(Outcome.UPSTREAMED, "upstream made the same change", spot=new.spot))
    merge = sides.merge
    if merge.conflicts:
        return conflicting(question, old, new, sides, "upstream changed the same lines")
    method = "unchanged" if base == theirs else "line merge"
    if base != theirs and form.place is Place.EDIT:
        words = sides.merged_tokens
        if words is not None and not _tokens_agree(merge.text, words):
            return conflicting(question, old, new, sides, "a merge of tokens puts the edit elsewhere")
        method = "line merge and token merge" if words is not None else method
    splices = _line_splices(new, merge.text)
    if form.place is Place.EDIT and not _parses(merge.text):
        return conflicting(question, old, new, sides, "the merged text does not parse")
    placement = applied(question, old, new, method, None, base == theirs)
    if base != theirs:
        placement = replace(placement, script=_script(question, new, merge.text))
    return Placed(placement, splices)


def _script(question: Question, new: Landing, text: str) -> str:
    """The edit as it would be written on the tag."""
    changes = between(split_lines(new.scope.text(new.source)), split_lines(text))
    if new.source.newline == "\r\n" and not question.form.keep_newlines:
        changes = tuple(change.plain() for change in changes)
    return render(changes)


def _tokens_agree(text: str, words: list[str]) -> bool:
    have = tokens(text)
    return have is not None and as_lines(have) == words


def _parses(text: str) -> bool:
    try:
        parses(text)
    except Unreadable:
        return False
    return True


def _line_splices(new: Landing, text: str) -> tuple[Splice, ...]:
    """The changed lines between the scope on the tag and the merged text, as splices of the file."""
    old = split_lines(new.scope.text(new.source))
    first = new.scope.first - 1
    starts = new.source.starts
    return tuple(
        Splice(starts[first + c.at - 1], starts[first + c.at - 1 + c.gone], "".join(c.lines))
        for c in between(old, split_lines(text))
    )
