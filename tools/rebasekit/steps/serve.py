"""A deployment's launch: what a profile makes of it, checked before anything is started."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rebasekit.errors import StateError, UsageError
from rebasekit.model.profile import Profile
from rebasekit.model.size import size
from rebasekit.model.tag import Tag, in_range
from rebasekit.patches.refusals import Refusal, refused
from rebasekit.probes.capacity import Flags, Memory, Model, flags_from_arguments, release_of
from rebasekit.probes.capacity.model import NotCovered, model_of, read_model, weights_in
from rebasekit.probes.capacity.plan import Deployment, plan
from rebasekit.probes.scripts import FOLDER
from rebasekit.steps.build_wheel import MANIFEST


@dataclass(frozen=True)
class Check:
    """One thing that was looked at: `outcome` is ok, FAIL or skip."""

    name: str
    outcome: str
    text: str


@dataclass(frozen=True)
class Start:
    """What is executed: `environment` is added to the user's own."""

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)

    def shell(self) -> str:
        """The same for a POSIX shell, one flag a line."""
        lines = [f"{key}={shlex.quote(value)}" for key, value in self.environment.items()]
        words = list(self.argv)
        head, rest = words[:3], words[3:]
        lines.append(shlex.join(head))
        for word in rest:
            if word.startswith("--") or not lines[-1].startswith("  --"):
                lines.append(f"  {shlex.quote(word)}")
            else:
                lines[-1] += f" {shlex.quote(word)}"
        return " \\\n".join(["env", *lines] if self.environment else lines)


@dataclass(frozen=True)
class Asked:
    """A profile for one release, with what the command line adds to it."""

    profile: Profile
    tag: Tag
    pins: Mapping[str, str]
    model: Path | None = None
    extra: tuple[str, ...] = ()

    @property
    def whole(self) -> Profile:
        """The profile with the added flags in place of its own."""
        return replace(self.profile, arguments={**self.profile.arguments, **arguments_of(self.extra)})


def arguments_of(words: Sequence[str]) -> dict[str, str | bool]:
    """Flags of a command line by name without dashes; raise UsageError for a word that belongs to none."""
    found: dict[str, str | bool] = {}
    name = ""
    for word in words:
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            found[name] = value if equals else True
        elif not name:
            raise UsageError(f"`{word}` is not a flag", hint="rebasekit serve --profile NAME -- --port 30000")
        else:
            found[name] = word if found[name] is True else f"{found[name]} {word}"
    return found


def flags_of(profile: Profile, extra: Sequence[str] = ()) -> Flags:
    """A profile's flags as far as memory goes; added ones come last and win."""
    return flags_from_arguments([*profile.words(), *extra], profile.environment)


def model_of_profile(profile: Profile, folder: Path | None = None) -> tuple[Model | None, Path | None]:
    """The model's shape and folder: what is on disk, else what the profile says of it, else nothing."""
    where = folder or Path(profile.model)
    if folder is not None or (where / "config.json").is_file():
        return read_model(where), where
    return (model_of(profile.config, profile.model), None) if profile.config else (None, None)


def deployment_of(asked: Asked) -> Deployment | None:
    """What there is to calculate with; None when the profile leaves out what no configuration tells."""
    profile = asked.profile
    if not profile.card.free:
        return None
    model, folder = model_of_profile(profile, asked.model)
    flags = flags_of(profile, asked.extra)
    weights = profile.card.weights or (weights_in(folder) // flags.tp_size if folder else 0)
    if model is None or not weights:
        return None
    chains = profile.chains
    return Deployment(
        model=model,
        flags=flags,
        memory=Memory(profile.card.free, weights, profile.card.total),
        release=release_of(asked.tag),
        patched=profile.patched,
        length=chains.length if chains else 0,
        count=chains.count if chains else 1,
        dense_copies=chains.dense_copies if chains else 0,
    )


def checks(asked: Asked, refusals: tuple[Refusal, ...]) -> list[Check]:
    """Everything that the files alone tell before a start."""
    return [_release(asked), _model(asked), _pins(asked), _combinations(asked, refusals), _capacity(asked)]


def build_check(asked: Asked, chosen: str | None, environment: Path, digest: str) -> Check:
    """Whether what `build` made for the release is of today's series; other interpreters are not looked into."""
    if chosen is not None or not (environment / "bin" / "python").exists():
        return Check("build", "skip", "the interpreter is not one that `rebasekit build` made")
    if not asked.profile.patched:
        return Check("build", "ok", f"`{environment}`")
    for manifest in environment.glob(f"lib/python3*/site-packages/*.dist-info/{MANIFEST}"):
        series = str(json.loads(manifest.read_text(encoding="utf-8")).get("series", ""))
        if series == digest:
            return Check("build", "ok", f"series {digest[:12]} in `{environment}`")
        said = (
            f"`{environment}` has series {series[:12]}, the project's is {digest[:12]}: `rebasekit build {asked.tag}`"
        )
        return Check("build", "FAIL", said)
    return Check("build", "FAIL", f"`{environment}` does not say which series it has: `rebasekit build {asked.tag}`")


def _release(asked: Asked) -> Check:
    profile = asked.profile
    if not in_range(asked.tag, profile.tags):
        return Check("release", "FAIL", f"the profile is for {profile.tags}, not for {asked.tag}")
    return Check("release", "ok", f"{asked.tag}, {'patched' if profile.patched else 'as upstream ships it'}")


def _model(asked: Asked) -> Check:
    path = str(asked.model or asked.profile.model)
    if (Path(path) / "config.json").is_file():
        return Check("model", "ok", f"`{path}`")
    if asked.model is not None or path.startswith((".", "/")) or path.count("/") != 1 or Path(path).exists():
        return Check("model", "FAIL", f"there is no `{path}/config.json`; name the model's folder with --model")
    return Check("model", "skip", f"`{path}` is not a folder here; the server would look for it on its hub")


def _pins(asked: Asked) -> Check:
    """What series.toml pins is in force whatever the profile says, so a profile must not say otherwise."""
    if not asked.profile.patched:
        return Check("pins", "skip", "the series' environment is for the patched release")
    for key, value in asked.pins.items():
        said = asked.profile.environment.get(key, value)
        if said != value:
            return Check("pins", "FAIL", f"the profile sets `{key}={said}`, the series pins `{value}`")
    return Check("pins", "ok", ", ".join(f"{key}={value}" for key, value in asked.pins.items()) or "none")


def _combinations(asked: Asked, refusals: tuple[Refusal, ...]) -> Check:
    said = refused(refusals, asked.whole, asked.tag, asked.pins if asked.profile.patched else {})
    if said:
        return Check("combinations", "FAIL", "; ".join(said))
    return Check("combinations", "ok", f"none of {len(refusals)} that are refused")


def _capacity(asked: Asked) -> Check:
    try:
        deployment = deployment_of(asked)
        if deployment is None:
            return Check("capacity", "skip", "the profile does not say what a card has free (`[card]`)")
        solved = plan(deployment)
    except NotCovered as error:
        return Check("capacity", "skip", error.message)
    except (StateError, UsageError) as error:
        return Check("capacity", "FAIL", error.message)
    pools, fit = solved.pools, solved.fit
    text = f"{pools.tokens:,} tokens ({pools.binding}), {pools.requests} requests, KV cache {size(pools.kv_bytes)}"
    if fit is not None:
        text += f", {fit.chains} of {fit.wanted} chains of {fit.length:,}"
    if not solved.ok:
        advice = next(iter(solved.advice), None)
        text += f"; change together: {' '.join(advice.flags)} ({advice.why})" if advice else ""
    return Check("capacity", "ok" if solved.ok else "FAIL", text)


def start_of(asked: Asked, python: str, site: Path | None = None) -> Start:
    """The command line and environment. `site` is the start hook's configuration, for profiles with stand-ins."""
    profile = asked.profile
    added = arguments_of(asked.extra)
    kept = [word for name, value in profile.arguments.items() if name not in added for word in _words(name, value)]
    argv = [python, "-m", profile.module, "--model-path", str(asked.model or profile.model), *kept, *asked.extra]
    environment = {**(asked.pins if profile.patched else {}), **profile.environment}
    if site is not None:
        environment |= {"PYTHONPATH": str(FOLDER / "site"), "REBASEKIT_SITE": str(site)}
    return Start(tuple(argv), environment)


def _words(name: str, value: object) -> list[str]:
    values = value if isinstance(value, tuple) else () if value is True else (value,)
    return [f"--{name}", *(str(each) for each in values)]


def write_site(folder: Path) -> Path:
    """The start hook's configuration: stand-ins, no effects."""
    notes = folder / "notes"
    notes.mkdir(parents=True, exist_ok=True)
    site = folder / "site.json"
    site.write_text(json.dumps({"notes": str(notes), "stand_ins": True}))
    return site


def python_for(chosen: str | None, environment: Path) -> str:
    """The interpreter: the one named, else that of `environment` if it was built, else the `python3` of PATH.

    Raises StateError when there is none.
    """
    built = environment / "bin" / "python"
    name = chosen or (str(built) if built.exists() else "python3")
    if shutil.which(name) is None:
        raise StateError(f"there is no interpreter `{name}`", hint="name one that has the release: --python FILE")
    return name
