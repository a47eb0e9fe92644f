"""What a smoke needs before its first server: a model, the reference's answers, and how to start."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rebasekit.errors import StateError, UsageError
from rebasekit.model.progress import Progress
from rebasekit.probes.process import run
from rebasekit.probes.scripts import FOLDER, script
from rebasekit.steps.build_env import clean_environ
from rebasekit.steps.smoke.compare import Expected
from rebasekit.steps.smoke.ground import Ground
from rebasekit.steps.smoke.plan import Device, Launch, Plan
from rebasekit.steps.smoke.prompts import NEW

_SEED = 20
_LIMIT = 300.0


@dataclass(frozen=True)
class Options:
    """The command line's choices."""

    ranks: int = 2
    device: str = "cpu"
    model: Path | None = None
    patched: bool = True
    effects: bool = True
    only: tuple[str, ...] = ()  # names of launches
    python: Path | None = None  # a prepared environment's interpreter, with what it needs on PYTHONPATH
    sites: tuple[Path, ...] = ()
    record: Path | None = None  # the proof of a build, instead of placing the series


def make_model(ground: Ground, folder: Path, progress: Progress) -> Path:
    """The session's own tiny model, made by the serving environment; kept while the script stays the same."""
    model, stamp = folder / "model", folder / "model.made"
    said = script("make_model.py").read_text()
    if stamp.is_file() and stamp.read_text() == said:
        return model
    stamp.unlink(missing_ok=True)
    model.mkdir(parents=True, exist_ok=True)
    with progress.task("making the model"):
        _run(ground, ["make_model.py", str(model), str(_SEED)], folder, "model.log")
    stamp.write_text(said)
    return model


def reference(
    ground: Ground, model: Path, prompts: Sequence[Sequence[int]], folder: Path, progress: Progress
) -> dict[tuple[int, ...], Expected]:
    """Greedy answers by transformers, on the CPU in fp32."""
    requests = folder / "requests.json"
    requests.write_text(json.dumps([{"tokens": list(prompt), "new": NEW} for prompt in prompts]))
    with progress.task("asking the reference", len(prompts), "prompts"):
        said = _run(ground, ["reference.py", str(model), str(requests)], folder, "reference.log")
    answers = json.loads(said)
    return {
        tuple(prompt): Expected(tuple(each["tokens"]), tuple(each["margins"]), tuple(each["scores"]))
        for prompt, each in zip(prompts, answers, strict=True)
    }


def _run(ground: Ground, argv: Sequence[str], folder: Path, log: str) -> str:
    """The last line that one of our scripts prints."""
    environ = ground.environ() | {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error", "TQDM_DISABLE": "1"}
    command = [str(ground.python), str(script(argv[0])), *argv[1:]]
    done = run(command, environ, folder, folder / log, _LIMIT)
    if done.code != 0:
        why = done.tail(1).strip() if done.code else f"took longer than {_LIMIT:.0f} s"
        raise StateError(f"`{argv[0]}` failed: {why}", hint=f"less {folder / log}")
    return done.tail(1)


def command_line(ground: Ground, plan: Plan, launch: Launch, model: Path, options: Options) -> list[str]:
    """How a launch is started; `{port}` is left for the server."""
    device = plan.devices.get(options.device)
    if device is None:
        raise UsageError(f"`serve/smoke.toml` has no device `{options.device}`", hint="rebasekit smoke --help")
    fixed = ["--model-path", str(model), "--host", "127.0.0.1", "--port", "{port}", "--tp", str(options.ranks)]
    fixed += ["--context-length", str(plan.context), "--chunked-prefill-size", str(plan.chunk)]
    return [str(ground.python), "-m", plan.module, *fixed, *device.arguments, *launch.arguments]


def environ_of(
    device: Device,
    launch: Launch,
    pins: Mapping[str, str],
    ranks: int,
    folder: Path,
    config: Mapping[str, object],
    paths: Sequence[Path] = (),
) -> dict[str, str]:
    """The environment of a launch: ours cleaned, the pins, the device's, the launch's, and our start hook."""
    site = folder / "site.json"
    notes = folder / "notes"
    notes.mkdir(parents=True, exist_ok=True)
    site.write_text(json.dumps({"notes": str(notes), **config}))
    kept = {key: value for key, value in pins.items() if key not in launch.without}
    caches = {key: str(folder.parent / "caches") for key in ("SGLANG_CACHE_DIR", "TRITON_CACHE_DIR", "XDG_CACHE_HOME")}
    # SPT_NOENV: a process that sets its title leaves its environment readable, where the pins are looked up.
    path = os.pathsep.join([str(FOLDER / "site"), *map(str, paths)])
    hook = {"SPT_NOENV": "1", "PYTHONPATH": path, "REBASEKIT_SITE": str(site)}
    said = {key: value.replace("{cores}", _cores(ranks)) for key, value in device.environment.items()}
    base = {key: value for key, value in clean_environ().items() if key not in pins}  # ours must not stand in for it
    return {**base, **caches, **said, **kept, **launch.environment, **hook}


def _cores(ranks: int) -> str:
    """One core for each rank, those that this process may use, in turn: `0|1`."""
    ours = sorted(os.sched_getaffinity(0))
    return "|".join(str(ours[rank % len(ours)]) for rank in range(ranks))
