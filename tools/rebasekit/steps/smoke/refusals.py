"""Starts that have to end by themselves, and say why."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rebasekit.model.progress import Progress
from rebasekit.probes.process import Group
from rebasekit.probes.scripts import script
from rebasekit.steps.smoke.client import free_port
from rebasekit.steps.smoke.compare import Wrong
from rebasekit.steps.smoke.plan import Launch
from rebasekit.steps.smoke.result import StepResult

_TAIL = 12
_IMPORTS = 180.0  # seconds for the one process that all of them are forked from


def refusal(wanted: str, code: int | None, log: str, tail: str) -> str:
    """The line in which a start says why it ended; raise Wrong when it did not say so, or ended well."""
    found = next(reversed(list(re.finditer(wanted, log))), None)  # in a traceback, the source comes first
    if found is None:
        raise Wrong(f"ended with {code}, and never said `{wanted}`{tail}")
    if code == 0:
        raise Wrong("said why it does not start, and ended with 0")
    line = log[log.rfind("\n", 0, found.start()) + 1 :].partition("\n")[0]
    return re.sub(r"^[\w.]*(Error|Exception): ", "", line.strip())[:200]


def early(
    python: str,
    module: str,
    warm: Sequence[str],
    launches: Sequence[Launch],
    argv: Callable[[Launch], list[str]],
    environ: Mapping[str, str],
    folder: Path,
    limit: float,
    progress: Progress,
    card: bool = False,
    jobs: int = 1,
) -> Iterator[StepResult]:
    """Start each launch in a fork of one process, and hold what it says against what it has to refuse.

    `argv` are a launch's arguments; `limit` is in seconds, for each; `card` says that there is a GPU to keep away
    from, `jobs` how many start at once. A start that goes on is ended with everything that it started.
    """
    logs = {launch.name: folder / f"{launch.name}.log" for launch in launches}
    cases = [
        {
            "name": launch.name,
            "argv": [part.replace("{port}", str(free_port())) for part in argv(launch)],
            "set": dict(launch.environment),
            "unset": list(launch.without),
            "log": str(logs[launch.name]),
        }
        for launch in launches
    ]
    asked = folder / "cases.json"
    how = {"module": module, "warm": list(warm), "limit": limit, "card": card, "jobs": jobs}
    asked.write_text(json.dumps({**how, "cases": cases}))
    with (
        progress.task("refusals", len(launches), "starts") as task,
        Group([python, str(script("refusals.py")), str(asked)], environ, folder, folder / "refusals.log") as group,
    ):
        said, cpu = set[str](), 0.0
        for line in group.lines(_IMPORTS + limit * len(launches)):
            if line.startswith('{"name": '):
                each = json.loads(line)
                launch = next(launch for launch in launches if launch.name == each["name"])
                said.add(launch.name)
                task.advance()
                yield replace(_judged(launch, each, logs[launch.name], group.memory), cpu=group.cpu - cpu)
                cpu = group.cpu
        for launch in launches:
            if launch.name not in said:
                why = f"the process that starts it ended with {group.process.poll()}{_tail(group.log)}"
                yield StepResult(launch.name, "refusal", "FAIL", why, group.seconds, group.memory)


def _judged(launch: Launch, ended: Mapping[str, object], log: Path, memory: int) -> StepResult:
    text = log.read_text(errors="replace") if log.exists() else ""
    seconds, code = ended["seconds"], ended["code"]
    assert isinstance(seconds, float)
    try:
        if code is None:
            raise Wrong(f"went on for {seconds:.0f} s, and should have refused its arguments{_tail(log)}")
        assert isinstance(code, int)
        outcome, words = "ok", refusal(launch.refuses, code, text, _tail(log))
    except Wrong as error:
        outcome, words = "FAIL", str(error)
    return StepResult(launch.name, "refusal", outcome, words, seconds, memory)


def _tail(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()[-_TAIL:] if log.exists() else []
    return "".join(f"\n      | {line[:300]}" for line in lines) or "; its log is empty"
