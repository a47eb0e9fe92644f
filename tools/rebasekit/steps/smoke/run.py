"""One smoke, from the environment to the effect table."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rebasekit.model.progress import SILENT, Progress
from rebasekit.probes.effects import Notes, read_notes, role
from rebasekit.steps.smoke.client import Refused, Unreachable
from rebasekit.steps.smoke.compare import Expected, Wrong
from rebasekit.steps.smoke.plan import Launch, Limits
from rebasekit.steps.smoke.questions import Asking, Tokens
from rebasekit.steps.smoke.refusals import early, refusal
from rebasekit.steps.smoke.result import StepResult
from rebasekit.steps.smoke.server import Died, Server

Say = Callable[[StepResult], None]
_KERNELS = "sgl_kernel"
_DYING = 5.0  # seconds
_CORES = 4  # for each start that has to refuse beside others


@dataclass
class Rig:
    """What all launches of one run share. `argv` and `environ` make a launch's command and environment."""

    folder: Path
    argv: Callable[[Launch], list[str]]
    environ: Callable[[Launch, Path], dict[str, str]]
    context: int
    expected: dict[tuple[int, ...], Expected]
    pins: dict[str, str]
    limits: Limits
    root: Path  # where the package lies
    stand_in: bool | None = None  # whose kernels have to run; None where there are none
    chunk: int = 64
    progress: Progress = SILENT
    answers: dict[str, Tokens] = field(default_factory=dict)  # by launch
    notes: dict[str, list[Notes]] = field(default_factory=lambda: defaultdict(list))  # by role, over all launches

    def launch(self, launch: Launch, say: Say) -> None:
        """Start one server, ask it, stop it; every line goes to `say`. Nothing is left running, whatever happens."""
        folder = self.folder / launch.name
        folder.mkdir(parents=True, exist_ok=True)
        for old in (folder / "notes").glob("*.tsv"):
            old.unlink()
        server = Server(self.argv(launch), self.environ(launch, folder), folder, self.limits)
        try:
            with server:
                for result in self._steps(launch, server):
                    say(result)
        finally:
            found = read_notes(folder / "notes", self.root)
            for pid, notes in found.items():
                self.notes[role(server.titles.get(pid, ""))].append(notes)
        orphans = server.orphans()
        if orphans:
            say(StepResult(launch.name, "orphans", "FAIL", f"processes {orphans} are left"))
        if launch.steps and self.stand_in is not None:
            say(self._kernels(launch, found, server))

    def refusals(self, launches: Sequence[Launch], module: str, warm: Sequence[str], say: Say) -> None:
        """What has to end while it reads its arguments, all of it in one process; a line for each."""
        if not launches:
            return
        folder = self.folder / "refusals"
        folder.mkdir(parents=True, exist_ok=True)
        shared = replace(launches[0], environment={}, without=())
        python, head = self.argv(shared)[0], 3  # `python -m module`
        environ = self.environ(shared, folder)
        argv = lambda launch: self.argv(launch)[head:]  # noqa: E731
        limit, card = self.limits.refusal, self.stand_in is False
        jobs = max(1, len(os.sched_getaffinity(0)) // _CORES) if card else 1  # on a card each has more to import
        for line in early(python, module, warm, launches, argv, environ, folder, limit, self.progress, card, jobs):
            say(line)
        for notes in read_notes(folder / "notes", self.root).values():
            self.notes[role("")].append(notes)

    def _steps(self, launch: Launch, server: Server) -> Iterator[StepResult]:
        yield StepResult(launch.name, "start", "ok", f"process {server.group.process.pid}, port {server.port}")
        if launch.refuses:
            yield self._step(launch, server, "refusal", lambda: self._refusal(launch, server))
            return
        ready = self._step(launch, server, "ready", lambda: f"after {server.wait_ready(self.progress):.0f} s")
        yield ready
        alive = ready.outcome == "ok"
        pins = {key: value for key, value in self.pins.items() if key not in launch.without}
        asking = Asking(
            server,
            self.context,
            self.expected,
            pins,
            launch.log,
            self.chunk,
            launch.tie,
            launch.bound,
            self.answers[launch.equals] if launch.equals else None,
            self.answers.setdefault(launch.name, {}),
        )
        for step in launch.steps:
            if not alive:
                yield StepResult(launch.name, step, "skip", "there is no server to ask")
                continue
            with self.progress.task(f"{launch.name}: {step}"):
                result = self._step(launch, server, step, lambda step=step: asking.ask(step))  # type: ignore[misc]
            yield result
            alive = server.look() is None and "no answer" not in result.text
        if ready.outcome == "ok":
            yield self._step(launch, server, "log", lambda: self._log(server))
            yield self._step(launch, server, "stop", lambda: self._stop(server))

    def _step(self, launch: Launch, server: Server, step: str, work: Callable[[], str]) -> StepResult:
        start, outcome, cpu = time.monotonic(), "ok", server.group.cpu
        try:
            text = work()
        except (Died, Wrong) as error:
            outcome, text = "FAIL", str(error)
        except Refused as error:
            outcome, text = "FAIL", f"refused: {error}"
        except Unreachable as error:
            # A connection that breaks is a server that is ending; it says so a moment later.
            code = server.look() if error.late else server.group.wait(server.group.seconds + _DYING)
            what = "the server hangs" if code is None else f"the server ended with {code}"
            outcome, text = "FAIL", f"{error}; {what}{server.tail()}"
        server.look()
        seconds, took = time.monotonic() - start, server.group.cpu - cpu
        return StepResult(launch.name, step, outcome, text, seconds, server.memory, took)

    def _refusal(self, launch: Launch, server: Server) -> str:
        log = server.wait_refusal(self.progress)
        return refusal(launch.refuses, server.group.process.poll(), log, server.tail())

    def _log(self, server: Server) -> str:
        if trouble := server.trouble():
            raise Wrong(f"{len(trouble)} tracebacks, the last `{trouble[-1]}` ({server.group.log})")
        return "no traceback"

    def _stop(self, server: Server) -> str:
        if wrong := server.stop():
            raise Wrong(wrong)
        return "every process ended"

    def _kernels(self, launch: Launch, found: dict[int, Notes], server: Server) -> StepResult:
        """Whose kernels the ranks loaded: the stand-in and the real ones are never mixed silently."""
        ranks = {
            pid: role(title)
            for pid, title in server.titles.items()
            if role(title)[:2].isupper() or "scheduler" in title
        }
        with_it = sorted({name for pid, name in ranks.items() if pid in found and _KERNELS in found[pid].stand_ins})
        wanted = sorted(set(ranks.values())) if self.stand_in else []
        outcome = "ok" if ranks and with_it == wanted else "FAIL"
        text = f"the stand-in in {', '.join(with_it)}" if with_it else "the release's own kernels"
        return StepResult(launch.name, "kernels", outcome, text if ranks else "no rank was seen")
