"""How a smoke is shown: a line per step as it is known, then the effect table, and the JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rebasekit.commands._serving import size

if TYPE_CHECKING:
    from rich.table import Table

    from rebasekit.console import Console
    from rebasekit.steps.smoke.result import Constructed, Smoke, StepResult


class Lines:
    """Prints each step when it is over."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def __call__(self, result: StepResult) -> None:
        name = f"{result.launch}: {result.step}" if result.launch else result.step
        figures = f"{result.seconds:6.1f} s  {_cpu(result)}{size(result.memory) if result.memory else '':>7}"
        self._console.line(f"{result.outcome:<5}{name:<26}{figures}  {result.text}")


def _cpu(result: StepResult) -> str:
    """Processor time: what a step costs, however busy the machine is."""
    return f"{result.cpu:6.1f} cpu  " if result.cpu else " " * 12


def tables(found: Smoke) -> list[Table]:
    """The effects by hunk and rank, and the classes that were built."""
    from rich.table import Table

    shown = []
    if found.effects:
        roles = sorted({role for effect in found.effects for role in effect.ranks})
        table = Table(title=f"what ran of each hunk on {found.tag}, lines in functions", title_justify="left")
        for column in ("hunk", "state", "lines", *roles, ""):
            table.add_column(column, overflow="fold")
        for effect in found.effects:
            ranks = [effect.ranks.get(role, "") for role in roles]
            why = effect.problem or (f"idle: {effect.idle}" if effect.idle else "")
            table.add_row(effect.hunk, effect.state, f"{effect.ran}/{effect.lines}", *ranks, why)
        shown.append(table)
    if found.constructed:
        table = Table(title="classes that hunks need to be built", title_justify="left")
        for column in ("class", "built", "needed by"):
            table.add_column(column, overflow="fold")
        for each in found.constructed:
            table.add_row(each.name, _built(each), ", ".join(each.hunks))
        shown.append(table)
    return shown


def _built(each: Constructed) -> str:
    """`TP0, TP1: UnifiedTreeCore`; a subclass by its whole name."""
    roles: dict[str, list[str]] = {}
    for role, names in each.built.items():
        said = ", ".join(name.rpartition(".")[2] if name == each.name else name for name in names)
        roles.setdefault(said, []).append(role)
    return "; ".join(f"{', '.join(who)}: {said}" for said, who in roles.items()) or "never"


def closing(found: Smoke) -> str:
    """One line that says everything at once."""
    failed = [f"{s.launch}: {s.step}".removeprefix(": ") for s in found.steps if s.outcome == "FAIL"]
    failed += [effect.hunk for effect in found.effects if effect.problem]
    failed += [each.name for each in found.constructed if not each.ok]
    what = f"{found.version}, {found.ranks} ranks on {found.device}, kernels: {found.kernels}, {found.seconds:.0f} s"
    what += f", {sum(step.cpu for step in found.steps):.0f} s of cpu"
    what += ", environment given" if found.given else ""
    return f"ok: {what}" if found.ok else f"FAIL: {', '.join(failed)} ({what}; logs in {found.folder})"


def data(found: Smoke) -> dict[str, Any]:
    """The report as JSON; docs/serving.md describes it."""
    from dataclasses import asdict

    from rebasekit.steps.smoke.result import SCHEMA

    return {"schema": SCHEMA, "ok": found.ok, **asdict(found)}
