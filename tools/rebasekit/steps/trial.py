"""One hunk tried on one pristine scope: its anchor's matches, and what the scope becomes."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from rebasekit.edit import places, script
from rebasekit.edit.layout import indent_of, is_clause
from rebasekit.edit.match import Match, matches
from rebasekit.edit.owned import Splice, spliced
from rebasekit.edit.patterns import parse_pattern
from rebasekit.edit.scopes import Scope, digest, first_line, last_line
from rebasekit.edit.source import Source, split_lines
from rebasekit.model.hunk import Form, Place

# whole statements between statements parse where they stand if they parse at all, which loading has checked
_WHOLE = {Place.BEFORE, Place.AFTER, Place.FIRST, Place.LAST}
ANCHORED = {Place.BEFORE, Place.AFTER, Place.REPLACE, Place.DELETE, Place.ELEMENT, Place.ARGUMENT}


@dataclass(frozen=True)
class Trial:
    """The hunk's splices on a source, and the scope's text before and after. Offsets are into the source."""

    source: Source
    scope: Scope
    matches: tuple[Match, ...]
    splices: tuple[Splice, ...]

    @property
    def before(self) -> str:
        return self.scope.text(self.source)

    @property
    def after(self) -> str:
        start = self.source.starts[self.scope.first - 1]
        end = self.source.starts[self.scope.last]
        inside = [
            Splice(s.start - start, s.end - start, s.new) for s in self.splices if start <= s.start and s.end <= end
        ]
        if len(inside) != len(self.splices):  # an import lands at the module's head, whatever the scope
            return spliced(self.source.text, self.splices)
        return spliced(self.before, inside)

    @property
    def depth(self) -> int | None:
        return self.matches[0].candidate.depth if self.matches else None

    @property
    def anchor(self) -> str:
        """Digest of the anchor's statement; empty for places without an anchor."""
        if not self.matches:
            return ""
        return digest(anchor_text(self.source, self.matches[0].node))


def anchor_text(source: Source, node: ast.stmt) -> str:
    return source.slice(first_line(node), last_line(node))


def anchored(form: Form) -> bool:
    return form.place in ANCHORED or bool(form.at)


def anchor_matches(form: Form, scope: Scope) -> tuple[Match, ...]:
    """All statements of the scope that fit the form's anchor; none for places without one."""
    return tuple(matches(parse_pattern(form.at), scope)) if anchored(form) else ()


def attempt(form: Form, source: Source, scope: Scope, found: tuple[Match, ...] | None = None) -> Trial:
    """Put the form's lines into the source; raise Unplaceable, ScriptError or Unreadable with the reason."""
    if found is None:
        found = anchor_matches(form, scope)
    trial = Trial(source, scope, found, tuple(places.splices(form, source, scope, list(found))))
    if form.place not in _WHOLE or is_clause(form.lines) or form.keep_newlines:
        parses(trial.after)
    return trial


def parses(scope: str) -> None:
    """Refuse a scope's text that does not parse, by raising Unreadable; a whole large file would take long."""
    _ = Source(f"if 1:\n{scope}" if indent_of(scope) else scope).tree


def attempt_edit(form: Form, source: Source, scope: Scope) -> str:
    """The scope's text with an edit script applied; the scope has to be the pinned one. Raise ScriptError."""
    changes = script.parse(form.lines)
    lines = split_lines(scope.text(source))
    if source.newline == "\r\n" and not form.keep_newlines:
        changes = tuple(
            script.Change(c.at, c.gone, tuple(line.replace("\n", "\r\n") for line in c.lines)) for c in changes
        )
    return "".join(script.apply(changes, lines))
