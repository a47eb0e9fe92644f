"""Build and smoke of a carried series: run here, or read from what other jobs wrote; never an exception."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from rebasekit.errors import RebasekitError
from rebasekit.model.progress import SILENT, Progress
from rebasekit.model.tag import Tag
from rebasekit.steps.bot.settings import Settings
from rebasekit.steps.build import Built, build
from rebasekit.steps.smoke.plan import PLAN
from rebasekit.steps.smoke.prepare import Options
from rebasekit.steps.smoke.result import Constructed, Effect, Smoke, StepResult
from rebasekit.steps.smoke.smoke import smoke
from rebasekit.steps.workspace import Workspace

_T = TypeVar("_T")
_LARGEST = 16 << 20  # bytes of a result; a job that ran upstream's code wrote it


@dataclass(frozen=True)
class Note:
    """Why there is no result: `failed` is trouble, else it was left out on purpose."""

    what: str
    text: str
    failed: bool = False


@dataclass(frozen=True)
class PatchTests:
    patch: str
    passed: int
    skipped: int
    failed: tuple[str, ...]


@dataclass(frozen=True)
class BuildResult:
    """What a build found, as far as a reader of a pull request needs it."""

    ok: bool
    version: str
    wheel: str
    findings: tuple[str, ...] = ()  # of the installation: `kind file: message`
    imports: tuple[tuple[str, str], ...] = ()  # module and error, of those that failed
    tests: tuple[PatchTests, ...] = ()


@dataclass(frozen=True)
class Trials:
    """Both results, each None with a note that says why."""

    build: BuildResult | None = None
    smoke: Smoke | None = None
    notes: tuple[Note, ...] = ()

    @property
    def ok(self) -> bool:
        """Nothing that ran failed, and nothing that should run could not."""
        done = [each.ok for each in (self.build, self.smoke) if each is not None]
        return all(done) and not any(note.failed for note in self.notes)

    @property
    def again(self) -> bool:
        """Whether the next run should try once more: something could not run at all."""
        return any(note.failed for note in self.notes)


def planned(space: Workspace, settings: Settings, stuck: bool) -> dict[str, str]:
    """Of `build` and `smoke`, those that do not run, and why."""
    left: dict[str, str] = {}
    for what, wanted in (("build", settings.build), ("smoke", settings.smoke)):
        if not wanted:
            left[what] = f"left out with --no-{what}"
        elif stuck:
            left[what] = "a hunk has no place, so there is nothing to try"
        elif space.series.source.kind != "pypi":
            left[what] = "a release from git has no wheel to put the series into"
    if "smoke" not in left and not (space.root / PLAN).is_file():
        left["smoke"] = f"there is no {PLAN}"
    return left


def run(space: Workspace, tag: Tag, settings: Settings, stuck: bool, progress: Progress = SILENT) -> Trials:
    """Build and smoke with the steps that the commands have. What goes wrong is in the result."""
    left = planned(space, settings, stuck)
    notes = [Note(what, why) for what, why in left.items()]
    built = served = None
    if "build" not in left:
        built = _tried("build", lambda: of_built(build(space, tag, settings.out / tag.name, progress=progress)), notes)
    if "smoke" not in left:
        served = _tried("smoke", lambda: smoke(space, tag, Options(), lambda _: None, progress), notes)
    return Trials(built, served, tuple(notes))


def read(space: Workspace, tag: Tag, settings: Settings, stuck: bool) -> Trials:
    """What other jobs wrote: `build-TAG.json` and `smoke-TAG.json` below `settings.results`, however deep."""
    assert settings.results is not None
    left = planned(space, settings, stuck)
    notes = [Note(what, why) for what, why in left.items()]
    folder = settings.results
    built = served = None
    if "build" not in left:
        built = _tried("build", lambda: build_of(_json(folder, f"build-{tag}.json")), notes)
    if "smoke" not in left:
        served = _tried("smoke", lambda: smoke_of(_json(folder, f"smoke-{tag}.json")), notes)
    return Trials(built, served, tuple(notes))


def _tried(what: str, work: Callable[[], _T], notes: list[Note]) -> _T | None:
    try:
        return work()
    except RebasekitError as error:
        notes.append(Note(what, error.message + (f" ({error.hint})" if error.hint else ""), failed=True))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        notes.append(Note(what, f"the result cannot be read: {type(error).__name__}", failed=True))
    return None


def _json(folder: Path, name: str) -> Mapping[str, Any]:
    found = next(iter(sorted(folder.rglob(name))), None)
    if found is None:
        raise RebasekitError(f"no result `{name}`: the job did not get that far")
    if found.stat().st_size > _LARGEST:
        raise ValueError(name)
    data = json.loads(found.read_text(encoding="utf-8"))
    if not isinstance(data, dict):
        raise TypeError(name)
    return data


def of_built(built: Built) -> BuildResult:
    found = built.installation.findings if built.installation else ()
    return BuildResult(
        ok=built.ok,
        version=built.wheel.content.version,
        wheel=built.wheel.path.name,
        findings=tuple(f"{each.kind} {each.file}: {each.message}" for each in found),
        imports=tuple((each.module, each.error) for each in built.imports if each.error),
        tests=tuple(PatchTests(t.patch, t.counts["passed"], t.counts["skipped"], tuple(t.failed)) for t in built.tests),
    )


def build_of(data: Mapping[str, Any]) -> BuildResult:
    """The result out of `build --json`, of one release. Raises KeyError, TypeError or ValueError for another shape."""
    (one,) = data["builds"]
    found = (one["installation"] or {}).get("findings", [])
    return BuildResult(
        ok=one["ok"] is True,
        version=str(one["version"]),
        wheel=str(one["wheel"]["path"]).rpartition("/")[2],
        findings=tuple(f"{each['kind']} {each['file']}: {each['message']}" for each in found),
        imports=tuple((str(each["module"]), str(each["error"])) for each in one["imports"] if each["error"]),
        tests=tuple(
            PatchTests(
                str(each["patch"]),
                int(each["counts"].get("passed", 0)),
                int(each["counts"].get("skipped", 0)),
                tuple(map(str, each["failed"])),
            )
            for each in one["tests"]
        ),
    )


def smoke_of(data: Mapping[str, Any]) -> Smoke:
    """The result out of `smoke --json`. Raises KeyError, TypeError or ValueError for another shape."""
    text = {key: str(data[key]) for key in ("tag", "version", "device", "kernels", "model", "folder")}
    return Smoke(
        tag=text["tag"],
        version=text["version"],
        device=text["device"],
        ranks=int(data["ranks"]),
        kernels=text["kernels"],
        model=text["model"],
        folder=text["folder"],
        patched=data["patched"] is True,
        given=data.get("given") is True,
        seconds=float(data["seconds"]),
        versions=_words(data["versions"]),
        steps=tuple(
            StepResult(
                **{key: str(each[key]) for key in ("launch", "step", "outcome", "text")},
                seconds=float(each["seconds"]),
                memory=int(each["memory"]),
                cpu=float(each.get("cpu", 0.0)),
            )
            for each in data["steps"]
        ),
        effects=tuple(
            Effect(
                **{key: str(each[key]) for key in ("hunk", "state", "idle", "problem")},
                lines=int(each["lines"]),
                ran=int(each["ran"]),
                ranks=_words(each["ranks"]),
            )
            for each in data["effects"]
        ),
        constructed=tuple(
            Constructed(
                str(each["name"]),
                tuple(map(str, each["hunks"])),
                {str(role): tuple(map(str, names)) for role, names in each["built"].items()},
            )
            for each in data["constructed"]
        ),
    )


def _words(data: Mapping[str, Any]) -> dict[str, str]:
    return {str(key): str(value) for key, value in data.items()}
