"""The smoke of one release: environment, model, reference, launches, effects."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from rebasekit.errors import StateError, UsageError
from rebasekit.model.progress import SILENT, Progress
from rebasekit.model.tag import Tag
from rebasekit.probes.effects import config
from rebasekit.steps import build_env
from rebasekit.steps.build_content import content
from rebasekit.steps.build_env import Environment
from rebasekit.steps.build_proof import Proof, base_of, make_wheel, prove, work_folder
from rebasekit.steps.install import verify
from rebasekit.steps.smoke import effects
from rebasekit.steps.smoke.plan import Plan, read_plan
from rebasekit.steps.smoke.prepare import Options, command_line, environ_of, make_model, reference
from rebasekit.steps.smoke.prompts import referenced
from rebasekit.steps.smoke.result import Smoke, StepResult
from rebasekit.steps.smoke.run import Rig, Say
from rebasekit.steps.workspace import Workspace

_SHOWN = ("torch", "triton", "transformers", "sglang-kernel", "sglang")


def smoke(space: Workspace, tag: Tag, options: Options, say: Say, progress: Progress = SILENT) -> Smoke:
    """Run it. Lines go to `say` as they are known; what went wrong is a line, never an exception.

    Raises RebasekitError when there is nothing to start: no place for a hunk, no plan, no packages.
    """
    start, steps = time.monotonic(), list[StepResult]()

    def line(result: StepResult) -> None:
        steps.append(result)
        say(result)

    plan = read_plan(space.root, tag)
    _check(options)
    proof = prove(space, tag, progress)
    folder = work_folder(space, tag) / ("smoke" if options.patched else "smoke-pristine")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    environment = _environment(space, proof, options, line, progress)
    model = options.model or make_model(environment, folder.parent, progress)
    rig = rig_of(space, proof, environment, plan, model, options, folder, progress)
    launches = [launch for launch in plan.launches if options.patched or not launch.patched]
    for launch in launches:
        if not options.only or launch.name in options.only:
            rig.launch(launch, line)
    every = effects.watched(proof.result) if options.effects and options.patched else []
    hunks = {hunk.name: hunk for hunk in space.series.hunks()}
    return Smoke(
        tag=tag.name,
        version=proof.content.version if options.patched else tag.version,
        device=options.device,
        ranks=options.ranks,
        kernels="pure-torch stand-in" if options.device == "cpu" else "the release's own",
        model=str(options.model or "tiny Qwen3-Next, random weights"),
        patched=options.patched,
        steps=tuple(steps),
        effects=effects.table(every, hunks, rig.notes),
        constructed=effects.constructed(effects.needed(proof.result), rig.notes) if every else (),
        versions=_versions(environment),
        seconds=time.monotonic() - start,
        folder=str(folder),
    )


def _check(options: Options) -> None:
    if options.device == "cuda" and not Path("/dev/nvidiactl").exists():
        raise UsageError("there is no GPU on this machine", hint="rebasekit smoke TAG --device cpu")


def _environment(space: Workspace, proof: Proof, options: Options, line: Say, progress: Progress) -> Environment:
    """An environment that holds the wheel, verified; made anew when it does not."""
    start = time.monotonic()
    below = base_of(space, proof, progress, cpu=options.device == "cpu")
    folder = work_folder(space, proof.tag)
    wanted = proof.content if options.patched else content(proof.upstream, {}, proof.tag.version)
    environment = Environment(folder / ("patched" if options.patched else "pristine"), (below.site, *below.below))
    environ = build_env.clean_environ()
    kept = environment.python.exists() and not verify(environment.python, wanted, environ=environ).findings
    if not kept:
        path = make_wheel(space, proof, folder, progress).path if options.patched else proof.upstream
        environment = build_env.fresh(environment.folder, below, path, progress)
        found = verify(environment.python, wanted, environ=environ)
        if found.findings:
            first = found.findings[0]
            raise StateError(f"the installation is not the wheel: {first.kind} `{first.file}` {first.message}")
    text = f"{wanted.version}, {len(wanted.files)} files verified" + ("" if kept else ", installed afresh")
    line(StepResult("", "install", "ok", text, time.monotonic() - start))
    return environment


def rig_of(
    space: Workspace,
    proof: Proof,
    environment: Environment,
    plan: Plan,
    model: Path,
    options: Options,
    folder: Path,
    progress: Progress,
) -> Rig:
    """What all launches of a run share, for an environment that holds the release."""
    site: dict[str, object] = {"stand_ins": options.device == "cpu"}
    if options.effects and options.patched:
        names = effects.needed(proof.result)
        files = effects.class_files(names, proof.content.files)
        site |= config(effects.watched(proof.result), files, files, environment.site)
    pins = space.series.environment
    device = plan.devices.get(options.device)
    if device is None:
        raise UsageError(f"`serve/smoke.toml` has no device `{options.device}`", hint="rebasekit smoke --help")
    return Rig(
        folder=folder,
        argv=lambda launch: command_line(environment, plan, launch, model, options),
        environ=lambda launch, where: environ_of(device, launch, pins, options.ranks, where, site),
        context=plan.context,
        expected=reference(environment, model, referenced(plan.context), folder, progress),
        pins=pins,
        limits=plan.limits,
        root=environment.site,
        stand_in=options.device == "cpu",
        progress=progress,
    )


def _versions(environment: Environment) -> dict[str, str]:
    """Versions of the packages that decide the answers."""
    sites = (*environment.below[::-1], environment.site)
    found = dict(path.stem.split("-", 1) for site in sites for path in site.glob("*-*.dist-info"))
    return {name: found[name.replace("-", "_")] for name in _SHOWN if name.replace("-", "_") in found}
