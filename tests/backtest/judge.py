"""The judge: the same for every tool, and none of rebasekit's own code.

For each hunk: what the tool did, whether the file is sound, and where the maintainer has the same statements.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tests.backtest import sheet, sound
from tests.backtest.owners import Owners, follow
from tests.backtest.statements import Reading, Statement, read
from tests.backtest.tools import Answer, Did
from tests.backtest.units import Step

Read = Callable[[str], bytes | None]
Added = list[tuple[Statement, int]]


class Result(enum.Enum):
    """One of these for each hunk and tool."""

    SAME = "as the maintainer"
    SOUND = "put in, no answer sheet"
    THERE = "upstream has it"
    ASKED = "for a person"
    TOLD = "wrong, and said so"
    SILENT = "wrong and silent"


@dataclass(frozen=True)
class Judged:
    hunk: str
    result: Result
    why: str = ""
    answer: Answer | None = None


@dataclass(frozen=True)
class Finished:
    """Everything that a run of hunks made: files in the end, and what each hunk has in them."""

    files: dict[str, bytes | None]
    owners: dict[str, Owners]

    @classmethod
    def of(cls, steps: Sequence[Step]) -> Finished:
        files: dict[str, bytes | None] = {}
        for step in steps:
            files.update(step.after)
        return cls(files, follow(steps))

    def added(self, hunk: str, path: str) -> Added:
        reading = _read(self.files.get(path))
        return reading.on(self.owners[path].of(hunk)) if reading else []

    def removed(self, hunk: str, path: str, pristine: Reading) -> list[Statement]:
        """The release's statements of which the hunk took a line out, and that are not there any more."""
        reading = _read(self.files.get(path)) or Reading()
        taken = pristine.on(self.owners[path].gone.get(hunk, set()))
        return [s for s, _ in taken if reading.count[s] < pristine.count[s]]


@dataclass
class Judge:
    """`written` is what each hunk does to the base; `upstream`, `his` read the target and the maintainer's files.

    `known` and `now` are all names of the base's and the target's files.
    """

    written: dict[str, Step]
    upstream: Read
    his: Read | None
    known: set[str] = field(default_factory=set)
    now: set[str] = field(default_factory=set)

    @cached_property
    def base(self) -> Finished:
        return Finished.of(list(self.written.values()))

    def judge(self, answers: Sequence[Answer]) -> list[Judged]:
        """A result for each answer, in order."""
        done = Finished.of([a.step for a in answers])
        faults = self._faults(answers, done)
        told = [(set(a.step.after), a.noted) for a in answers if a.noted and a.did is Did.PUT]
        return [self._one(answer, done, faults.get(answer.step.hunk, ""), told) for answer in answers]

    def _one(self, answer: Answer, done: Finished, fault: str, told: list[tuple[set[str], str]]) -> Judged:
        hunk = answer.step.hunk
        if answer.did is Did.ASKED:
            return Judged(hunk, Result.ASKED, answer.noted, answer)
        why, kept = fault, 0
        if not why and self.his is not None:
            held = self._dropped if answer.did is Did.DROPPED else self._held
            why, kept = held(answer, done, self.his)
        if why:
            said = answer.noted or _said(why, set(answer.step.after), told)
            return Judged(hunk, Result.TOLD if said else Result.SILENT, why, answer)
        if answer.did is Did.DROPPED:
            return Judged(hunk, Result.THERE, "", answer)
        return Judged(hunk, Result.SAME if kept else Result.SOUND, "", answer)

    def _held(self, answer: Answer, done: Finished, his: Read) -> tuple[str, int]:
        """What differs from the maintainer's file, and how many statements are as his."""
        kept = 0
        for path in answer.step.after:
            ours, theirs = _read(done.files[path]), _read(his(path))
            if ours is None or theirs is None:
                continue
            pristine = _read(self.upstream(path)) or Reading()
            added, removed = done.added(answer.step.hunk, path), done.removed(answer.step.hunk, path, pristine)
            verdict = sheet.compare(added, removed, ours, pristine, theirs)
            if verdict.why:
                return verdict.why, kept
            kept += verdict.kept
        return "", kept

    def _dropped(self, answer: Answer, done: Finished, his: Read) -> tuple[str, int]:
        hunk = answer.step.hunk
        for path in self.written[hunk].after:
            now = done.files[path] if path in done.files else self.upstream(path)
            if why := sheet.lost(self.base.added(hunk, path), _read(now), _read(his(path))):
                return why, 0
        return "", 1

    def _faults(self, answers: Sequence[Answer], done: Finished) -> dict[str, str]:
        """What is unsound, by the hunk that made it so."""
        found: dict[str, str] = {}
        put = [a for a in answers if a.did is Did.PUT]
        pending = self._names(a.step.hunk for a in answers if a.did is not Did.PUT)
        made = self._names(a.step.hunk for a in put)
        for path, data in done.files.items():
            mine = [a.step for a in put if path in a.step.after]
            if data is None or not path.endswith(".py") or not mine:
                continue
            if read(data) is None:
                broke = next(step for step in mine if _read(step.after[path]) is None)
                found.setdefault(broke.hunk, f"`{path}` does not parse")
                continue
            for owner, why in self._in_file(path, data, [s.hunk for s in mine], done, made, pending):
                found.setdefault(owner, why)
        return found

    def _in_file(
        self, path: str, data: bytes, mine: list[str], done: Finished, made: set[str], pending: set[str]
    ) -> Iterator[tuple[str, str]]:
        old = self.upstream(path) or b""
        reading, pristine = read(data) or Reading(), read(old) or Reading()
        added = {hunk: done.added(hunk, path) for hunk in mine}
        had = Counter(name for name, _ in sound.unbound(old))
        before = self.base.files.get(path) or b""  # what the fork itself has wrong is no tool's doing
        ills = {name for name, _ in sound.unbound(before)}
        for name, line in sound.unbound(data):
            had[name] -= 1
            if had[name] < 0 and name not in pending | ills:
                at = reading.at(line)
                users = [hunk for hunk in mine if any(s == at for s, _ in added[hunk])]
                binders = [h for h in mine if any(_binds(s, name) for s in done.removed(h, path, pristine))]
                yield (users or binders or mine)[0], f"`{name}` is not bound"
        for name in sound.doubled(data) - sound.doubled(old) - sound.doubled(before):
            starts = tuple(f"{word} {name.rpartition('.')[2]} " for word in ("def", "class"))
            makers = [h for h in mine if any(f"{s.code} ".startswith(starts) for s, _ in added[h])]
            yield (makers or mine)[0], f"`{name}` is defined twice"
        for hunk in mine:
            names = set[str]().union(*(sound.used(s.code) for s, _ in added[hunk]))
            if gone := (names & self.known) - self.now - made - pending:
                yield hunk, f"`{min(gone)}` is nowhere in the release any more"

    def _names(self, hunks: Iterable[str]) -> set[str]:
        """What hunks define in the base: definitions, imports, parameters and targets of assignments."""
        names: set[str] = set()
        for hunk in hunks:
            for path in self.written[hunk].after if hunk in self.written else ():
                for statement, _ in self.base.added(hunk, path):
                    names |= sound.defined(statement.code)
        return names


def differing(one: Sequence[Answer], other: Sequence[Answer]) -> list[str]:
    """Hunks that both tools put in, with other statements or in other scopes and blocks."""
    first, second = (Finished.of([a.step for a in answers]) for answers in (one, other))
    put = {a.step.hunk: a.step.after for a in other if a.did is Did.PUT}
    found = []
    for answer in one:
        hunk, paths = answer.step.hunk, answer.step.after
        if answer.did is not Did.PUT or hunk not in put:
            continue
        sides = [
            Counter((path, s) for path in paths if path in done.owners for s, _ in done.added(hunk, path))
            for done in (first, second)
        ]
        if sides[0] != sides[1]:
            found.append(hunk)
    return found


def _said(why: str, paths: set[str], told: list[tuple[set[str], str]]) -> bool:
    """Whether the tool named the same thing in the same file, although with another hunk."""
    name = why.partition("`")[2].partition("`")[0]
    return bool(name) and any(f"`{name}`" in text and paths & where for where, text in told)


def _binds(statement: Statement, name: str) -> bool:
    return name in sound.defined(statement.code)


def _read(data: bytes | None) -> Reading | None:
    return read(data) if data is not None else None
