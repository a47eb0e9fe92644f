"""What a smoke found."""

from __future__ import annotations

from dataclasses import dataclass, field

SCHEMA = 1


@dataclass(frozen=True)
class StepResult:
    """One line of the report: `outcome` is ok, FAIL or skip; memory is the most that all processes had, in bytes, `cpu`
    the seconds of processor time that they took in this step."""

    launch: str
    step: str
    outcome: str
    text: str
    seconds: float = 0.0
    memory: int = 0
    cpu: float = 0.0


@dataclass(frozen=True)
class Effect:
    """What of one hunk ran. `ranks` gives a state (ran, imported only, never) and how many lines, per role."""

    hunk: str
    state: str
    lines: int  # lines that can run
    ran: int  # how many of them ran somewhere
    ranks: dict[str, str] = field(default_factory=dict)
    idle: str = ""  # the stated reason
    problem: str = ""


@dataclass(frozen=True)
class Constructed:
    """A class that hunks need to be built, and what was really built, per role."""

    name: str
    hunks: tuple[str, ...]
    built: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return any(self.built.values())


@dataclass(frozen=True)
class Smoke:
    """The whole report. `kernels` says whose kernels ran; the two are never mixed in one run. `given` says that the
    environment was prepared by somebody else."""

    tag: str
    version: str
    device: str
    ranks: int
    kernels: str
    model: str
    patched: bool
    steps: tuple[StepResult, ...]
    effects: tuple[Effect, ...] = ()
    constructed: tuple[Constructed, ...] = ()
    given: bool = False
    versions: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    folder: str = ""

    @property
    def ok(self) -> bool:
        return (
            not any(step.outcome == "FAIL" for step in self.steps)
            and not any(effect.problem for effect in self.effects)
            and all(each.ok for each in self.constructed)
        )
