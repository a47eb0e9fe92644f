"""The check: do the defaults that hunks rely on still hold, and if not, which hunks are bypassed?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rebasekit.checks.defaults.cut import Cut, walk
from rebasekit.checks.defaults.relied import Malformed, Relied, parse, pinned_text, same
from rebasekit.checks.defaults.selection import Edge, edges, literal
from rebasekit.checks.defaults.values import NotRead, Value, values
from rebasekit.facts.query import Facts
from rebasekit.model.finding import Finding

HOLDS, PINNED, FLIPPED = "holds", "pinned", "flipped"


@dataclass(frozen=True)
class ReliedHunk:
    """A hunk in the new patched tree: `lines` are its own (none when it has no place), `relies` its entries."""

    patch: str
    id: str
    file: str
    lines: tuple[int, ...]
    relies: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.patch}/{self.id}"


@dataclass(frozen=True)
class Standing:
    """How one entry stands. `before` and `after` are the upstream defaults as source, `pin` what the deployment sets.

    state: "holds", "pinned" (flipped, but the deployment keeps it), "flipped".
    """

    entry: str
    hunks: tuple[str, ...]
    state: str
    before: str | None
    after: str | None
    pin: str | None
    file: str = ""
    line: int = 0


@dataclass(frozen=True)
class Defaults:
    """The answer. `notes` are for the reader and no findings: a pin that keeps a patch working."""

    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()
    standings: tuple[Standing, ...] = ()


def defaults(
    hunks: Sequence[ReliedHunk],
    old: Facts | None,
    new: Facts,
    *,
    pins: Mapping[str, object] | None = None,
    tag: str = "the new tree",
) -> Defaults:
    """Judge every entry on the new tree, and look for hunks that a flip bypasses.

    `pins` are what the deployment sets, by the name of the variable or argument; leave them out to see what the
    defaults alone would do. `old` only says what a default was.
    """
    check = _Check(hunks, old, new, dict(pins or {}), tag)
    for entry in dict.fromkeys(entry for hunk in hunks for entry in hunk.relies):
        check.entry(entry)
    check.bypassed()
    return Defaults(tuple(check.findings), tuple(check.notes), tuple(check.standings))


@dataclass
class _Check:
    hunks: Sequence[ReliedHunk]
    old: Facts | None
    new: Facts
    pins: dict[str, object]
    tag: str
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    standings: list[Standing] = field(default_factory=list)
    flips: list[tuple[Relied, str | None]] = field(default_factory=list)  # and what holds instead, as source

    def entry(self, text: str) -> None:
        relying = [hunk for hunk in self.hunks if text in hunk.relies]
        try:
            relied = parse(text)
            after = values(self.new, relied)
            before = values(self.old, relied) if self.old is not None else after
        except Malformed as error:
            self._each(relying, "default-flipped", f"`{text}` cannot be checked: {error}")
        except NotRead as missing:
            self._each(relying, "unread", f"`{missing.path}` could not be read ({missing.reason}); it may say `{text}`")
        else:
            self._judge(relied, relying, before, after)

    def _judge(self, relied: Relied, relying: list[ReliedHunk], before: list[Value], after: list[Value]) -> None:
        pin = pinned_text(self.pins[relied.last], relied.expected) if relied.last in self.pins else None
        after = _that_count(before, after, relied.expected)
        wrong = [value for value in after if not same(value.text, relied.expected)]
        upstream = bool(after) and not wrong
        held = upstream if pin is None else same(pin, relied.expected)
        state = FLIPPED if not held else HOLDS if upstream else PINNED
        shown = wrong[0] if wrong else after[0] if after else None
        names, place = tuple(hunk.name for hunk in relying), (shown.file, shown.line) if shown else ("", 0)
        self.standings.append(Standing(relied.text, names, state, _text(before), _text(after), pin, *place))
        where = f"{shown.file}:{shown.line}" if shown else ""
        now = f"{shown.text} ({where})" if shown else "nowhere"
        was = f", was {_text(before)}" if _text(before) != _text(after) else ""
        if state == PINNED:
            self.notes.append(
                f"`{relied.name}` is {now} in {self.tag}{was}; the deployment sets {pin}, which keeps "
                f"{', '.join(h.name for h in relying)} working"
            )
        elif state == FLIPPED:
            cause = f"the deployment sets `{relied.name}` to {pin}" if pin is not None else f"`{relied.name}` is {now}"
            if pin is None:
                cause += f" in {self.tag}{was}"
                if before and not any(same(value.text, relied.expected) for value in before):
                    cause = f"`{relied.name}` was never so: it is {_text(before)} on the release that the series is for"
            self._each(relying, "default-flipped", f"{cause}; the hunk relies on {relied.expected}")
            self.flips.append((relied, pin if pin is not None else shown.text if shown else None))

    def _each(self, hunks: list[ReliedHunk], kind: str, message: str) -> None:
        for hunk in hunks:
            self._add(hunk, kind, message)

    def _add(self, hunk: ReliedHunk, kind: str, message: str) -> None:
        line = hunk.lines[0] if hunk.lines else 0
        do = f"rebasekit show {hunk.name}"
        self.findings.append(Finding(kind, hunk.file, line, message, do, hunk.patch, hunk.id))

    # bypassed

    def bypassed(self) -> None:
        """Hunks whose functions serving reaches through the relied-on choice only."""
        whole: Cut | None = None
        for relied, instead in self.flips:
            if relied.kind != "default" or relied.parameter:
                continue
            choices = edges(self.new, relied.last, literal(relied.expected), literal(instead))
            if not choices:
                continue
            whole = whole or walk(self.new)
            rest = Cut(self.new, choices, whole.tape).serve()
            for hunk in self.hunks:
                dead = cut_off(self.new, hunk, whole, rest)
                if dead:
                    self._add(hunk, "bypassed", self._why(relied, instead, choices, dead))

    def _why(self, relied: Relied, instead: str | None, choices: list[Edge], dead: list[int]) -> str:
        first = choices[0]
        chosen = self.new.label(first.target if first.target >= 0 else first.scope)
        what = ", ".join(f"`{self.new.label(scope)}`" for scope in dead[:3]) + (", …" if len(dead) > 3 else "")
        reason = f"`{relied.name}` is {instead}" if instead is not None else f"`{relied.name}` is gone"
        return f"nothing calls {what} here: {reason}, and only {relied.expected} (`{chosen}`) leads there"


def functions(facts: Facts, hunk: ReliedHunk) -> list[int]:
    """Functions that hold the hunk's lines."""
    index = facts.program.index_of.get(hunk.file)
    if index is None:
        return []
    file = facts.program.file(index)
    spans = [(h[3], h[4], local) for local, h in enumerate(file.heads) if h[0] == "f"]
    found: dict[int, None] = {}
    for line in hunk.lines:
        inside = [span for span in spans if span[0] <= line <= span[1]]
        if inside:
            found[facts.program.first[index] + max(inside)[2]] = None
    return list(found)


def cut_off(facts: Facts, hunk: ReliedHunk, whole: Cut, rest: Cut) -> list[int]:
    """The hunk's functions that only the cut choices reach, if that is true of all that count.

    A constructor runs wherever an instance is made and says nothing about the methods: it counts alone only.
    """
    alive = [scope for scope in functions(facts, hunk) if whole.reaches(scope)]
    plain = [scope for scope in alive if not facts.program.scope(scope).short.startswith("__")]
    counted = plain or alive
    return counted if counted and not any(rest.reaches(scope) for scope in counted) else []


def _that_count(before: list[Value], after: list[Value], expected: str) -> list[Value]:
    """The declarations that can flip: those that said what is relied on. Others of that name are other things.

    When none of those places is left, it may have moved: then a place that said something else before does not count.
    """
    said = {value.place for value in before if same(value.text, expected)}
    if not said:
        return after
    kept = [value for value in after if value.place in said]
    others = {value.place for value in before}
    return kept or [value for value in after if value.place not in others]


def _text(found: list[Value]) -> str | None:
    texts = list(dict.fromkeys(value.text for value in found if value.text is not None))
    return " or ".join(texts) if texts else None
