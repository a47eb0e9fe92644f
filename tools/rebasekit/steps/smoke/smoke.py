"""The smoke of one release: environment, model, reference, launches, effects."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from rebasekit.errors import UsageError
from rebasekit.model.progress import SILENT, Progress
from rebasekit.model.tag import Tag
from rebasekit.probes.effects import config
from rebasekit.steps.build_proof import prove, working
from rebasekit.steps.build_record import Record, read_record, record_of
from rebasekit.steps.smoke import effects
from rebasekit.steps.smoke.ground import Ground, given, own
from rebasekit.steps.smoke.plan import Launch, Plan, read_plan
from rebasekit.steps.smoke.prepare import Options, command_line, environ_of, make_model, reference
from rebasekit.steps.smoke.prompts import referenced
from rebasekit.steps.smoke.result import Smoke, StepResult
from rebasekit.steps.smoke.run import Rig, Say
from rebasekit.steps.workspace import Workspace


def smoke(space: Workspace, tag: Tag, options: Options, say: Say, progress: Progress = SILENT) -> Smoke:
    """Run it. Lines go to `say` as they are known; what went wrong is a line, never an exception.

    Raises RebasekitError when there is nothing to start: no place for a hunk, no plan, no packages. Waits for another
    build or smoke of the release, which has its environment.
    """
    with working(space, tag, f"serves {tag}", progress) as folder:
        return _smoke(space, tag, options, folder, say, progress)


def _smoke(space: Workspace, tag: Tag, options: Options, above: Path, say: Say, progress: Progress) -> Smoke:
    start, steps = time.monotonic(), list[StepResult]()

    def line(result: StepResult) -> None:
        steps.append(result)
        say(result)

    plan = read_plan(space.root, tag)
    _check(options)
    chosen = _chosen(plan, options)
    folder = above / ("smoke" if options.patched else "smoke-pristine")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    record, ground = _ground(space, tag, options, line, progress)
    model = options.model or make_model(ground, folder.parent, progress)
    rig = rig_of(record, ground, plan, model, options, folder, progress)
    for launch in (each for each in chosen if not each.early):
        rig.launch(launch, line)
    rig.refusals([each for each in chosen if each.early], plan.module, plan.warm, line)
    every = effects.watched(record.hunks, ground.root) if options.effects and options.patched else []
    idle = {each.hunk: each.idle for each in record.hunks}
    return Smoke(
        tag=tag.name,
        version=record.content.version if options.patched else tag.version,
        device=options.device,
        ranks=options.ranks,
        kernels="pure-torch stand-in" if options.device == "cpu" else "the release's own",
        model=str(options.model or "tiny Qwen3-Next, random weights"),
        patched=options.patched,
        steps=tuple(steps),
        effects=effects.table(every, idle, rig.notes, options.device),
        constructed=effects.constructed(record.needed, rig.notes) if every else (),
        given=options.python is not None,
        versions=ground.versions(),
        seconds=time.monotonic() - start,
        folder=str(folder),
    )


def _check(options: Options) -> None:
    if options.device == "cuda" and not Path("/dev/nvidiactl").exists():
        raise UsageError("there is no GPU on this machine", hint="rebasekit smoke TAG --device cpu")


def _chosen(plan: Plan, options: Options) -> list[Launch]:
    """The launches of this run. Raises UsageError for a name that is none, or that leans on one that is left out."""
    possible = [launch for launch in plan.launches if launch.ranks <= options.ranks]
    known = [launch for launch in possible if options.patched or not launch.patched]
    if unknown := [name for name in options.only if name not in {launch.name for launch in known}]:
        raise UsageError(f"`{unknown[0]}` is no launch of this release in serve/smoke.toml", hint="rebasekit smoke TAG")
    found = [launch for launch in known if not options.only or launch.name in options.only]
    for launch in found:
        if launch.equals and launch.equals not in {each.name for each in found}:
            raise UsageError(
                f"`{launch.name}` has to give the tokens of `{launch.equals}`, which is left out",
                hint=f"rebasekit smoke TAG --only {launch.equals} --only {launch.name}",
            )
    return found


def _ground(space: Workspace, tag: Tag, options: Options, line: Say, progress: Progress) -> tuple[Record, Ground]:
    """What has to be served and where from, the latter verified."""
    if options.record and options.python:
        record = read_record(options.record, tag)
        return record, given(options.python, options.sites, record.content, line)
    proof = prove(space, tag, progress)
    record = record_of(space.series, tag, proof.content, proof.result)
    if options.python:
        return record, given(options.python, options.sites, record.content, line)
    cpu = options.device == "cpu"
    return record, own(space, proof, patched=options.patched, cpu=cpu, line=line, progress=progress)


def rig_of(
    record: Record, ground: Ground, plan: Plan, model: Path, options: Options, folder: Path, progress: Progress
) -> Rig:
    """What all launches of a run share, for an environment that holds the release."""
    site: dict[str, object] = {"stand_ins": options.device == "cpu"}
    if options.effects and options.patched:
        files = effects.class_files(record.needed, record.content.files)
        site |= config(effects.watched(record.hunks, ground.root), files, files, ground.root)
    device = plan.devices.get(options.device)
    if device is None:
        raise UsageError(f"`serve/smoke.toml` has no device `{options.device}`", hint="rebasekit smoke --help")
    pins = dict(record.pins)
    return Rig(
        folder=folder,
        argv=lambda launch: command_line(ground, plan, launch, model, options),
        environ=lambda launch, where: environ_of(device, launch, pins, options.ranks, where, site, ground.paths),
        context=plan.context,
        expected=reference(ground, model, referenced(plan.context), folder, progress),
        pins=pins,
        limits=plan.limits,
        root=ground.root,
        stand_in=options.device == "cpu",
        chunk=plan.chunk,
        progress=progress,
    )
