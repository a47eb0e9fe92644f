"""The effect table: for each hunk and rank what ran, and which needed classes were built."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from rebasekit.probes.effects import IMPORTED, NEVER, RAN, Notes, Runnable, runnable, state
from rebasekit.steps.build_record import Stood
from rebasekit.steps.smoke.result import Constructed, Effect

DEVICES = ("cpu", "cuda")
_ORDER = (RAN, IMPORTED, NEVER)


def watched(hunks: Iterable[Stood], root: Path) -> list[Runnable]:
    """Every placed hunk of a Python file with the lines of it that can run, read from the installed package."""
    return [
        runnable(each.hunk, each.file, (root / each.file).read_bytes(), each.lines)
        for each in hunks
        if each.file.endswith(".py")
    ]


def class_files(names: Mapping[str, object], exists: Mapping[str, str]) -> dict[str, str]:
    """The file of each class, by its dotted name; a class whose module is not there is left out."""
    found = {}
    for name in names:
        module = name.rpartition(".")[0].replace(".", "/")
        for path in (f"{module}.py", f"{module}/__init__.py"):
            if path in exists:
                found[name] = path
    return found


def table(
    hunks: list[Runnable], idle: Mapping[str, str], notes: Mapping[str, list[Notes]], device: str
) -> tuple[Effect, ...]:
    """One row per hunk. `notes` are those of all processes of a role, over all launches."""
    return tuple(_effect(hunk, reason(idle[hunk.hunk], device), notes) for hunk in hunks)


def reason(idle: str, device: str) -> str:
    """A hunk's reason not to run on a device. `cpu: …` is one for that device alone."""
    where, colon, why = idle.partition(": ")
    if colon and where in DEVICES:
        return why if where == device else ""
    return idle


def _effect(hunk: Runnable, idle: str, notes: Mapping[str, list[Notes]]) -> Effect:
    ranks: dict[str, str] = {}
    total: set[int] = set()
    best = NEVER
    for role, each in sorted(notes.items()):
        found = [state(hunk, one) for one in each]
        ran = set().union(*(lines for _, lines in found))
        word = min((word for word, _ in found), key=_ORDER.index, default=NEVER)
        ranks[role] = f"{word} {len(ran)}/{len(hunk.lines)}" if ran else word
        total |= ran
        best = min(best, word, key=_ORDER.index)
    problem = ""
    if not hunk.lines:
        best, problem = RAN, ""  # only comments or a deletion: there is nothing that could run
    elif best != RAN and not idle:
        problem = "never ran; reach it in serve/smoke.toml, or say in the hunk's `idle` why it cannot"
    elif best == RAN and idle:
        problem = "ran, and the hunk's `idle` says that it cannot"
    elif lost := _uneven(ranks):
        problem = f"ran in some ranks and not in {', '.join(lost)}"
    return Effect(hunk.hunk, best, len(hunk.lines), len(total), ranks, idle, problem)


def _uneven(ranks: Mapping[str, str]) -> list[str]:
    """Ranks of the model in which a hunk did not run although it did in another one."""
    model = {role: word for role, word in ranks.items() if role[:2].isupper()}
    ran = {role for role, word in model.items() if word.startswith(RAN)}
    return sorted(set(model) - ran) if ran else []


def constructed(names: Mapping[str, tuple[str, ...]], notes: Mapping[str, list[Notes]]) -> tuple[Constructed, ...]:
    """Which class stood behind each name, per role."""
    rows = []
    for name, hunks in sorted(names.items()):
        built = {
            role: tuple(sorted(set().union(*(one.classes[name] for one in each))))
            for role, each in sorted(notes.items())
        }
        rows.append(Constructed(name, hunks, {role: found for role, found in built.items() if found}))
    return tuple(rows)
