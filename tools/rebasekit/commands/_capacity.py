"""A deployment from whatever names it: a profile, a running server, or a model with flags and sizes."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rebasekit.commands import _where
from rebasekit.errors import UsageError

if TYPE_CHECKING:
    from rebasekit.model.profile import Profile
    from rebasekit.model.tag import Tag
    from rebasekit.probes.capacity import Flags, Model
    from rebasekit.probes.capacity.plan import Deployment
    from rebasekit.probes.capacity.server import Running

_HINT = "tools/capacity --help"


@dataclass
class _Known:
    """What has been learnt so far; later sources fill what earlier ones left open."""

    flags: Flags
    model: Model | None = None
    folder: Path | None = None
    tag: Tag | None = None
    patched: bool = True
    free: int = 0
    weights: int | None = None
    total: int = 0
    length: int = 0
    count: int = 1
    copies: int = 0


def asked(args: Namespace) -> tuple[Deployment, Running | None]:
    """The deployment that the command line names, and what a running server says of itself. Raises RebasekitError."""
    from rebasekit.model.tag import Tag
    from rebasekit.probes.capacity import Flags
    from rebasekit.probes.capacity.model import read_model

    if args.profile and args.url:
        raise UsageError("a profile and a running server are two deployments", hint=_HINT)
    known, reported = _Known(Flags()), None
    if args.profile:
        _from_profile(known, find_profile(args.profile, args))
    elif args.url:
        reported = _from_server(known, args)
    _from_words(known, args)
    if args.model:
        known.folder = Path(args.model)
        known.model = read_model(known.folder)
    if args.tag:
        known.tag = Tag.parse(args.tag)
    known.patched = known.patched and not args.pristine
    _memory(known, args, reported)
    known.length, known.count = args.chain or known.length, args.chains or known.count
    known.copies = known.copies if args.dense_copies is None else args.dense_copies
    return _deployment(known, args), reported


def find_profile(name: str, args: Namespace) -> Profile:
    """A profile by its file, or by its name in `patchset/profiles/`; raise UsageError with the closest one."""
    from difflib import get_close_matches

    from rebasekit.patches.profiles import load_profile

    path = Path(name)
    if not path.is_file():
        folder = _where.project(args) / "patchset" / "profiles"
        names = sorted(each.stem for each in folder.glob("*.toml"))
        if name not in names:
            close = get_close_matches(name.removesuffix(".toml"), names, n=1)
            listed = ", ".join(f"`{each}`" for each in names) or "none"
            raise UsageError(
                f"there is no profile `{name}`; there are {listed}",
                hint=f"name it: `--profile {close[0]}`" if close else "see docs/profiles.md",
            )
        path = folder / f"{name}.toml"
    return load_profile(path)


def _from_profile(known: _Known, profile: Profile) -> None:
    from rebasekit.steps.serve import flags_of, model_of_profile

    known.flags = flags_of(profile)
    known.tag, known.patched = profile.tag, profile.patched
    known.free, known.total = profile.card.free, profile.card.total
    known.weights = profile.card.weights or None
    if profile.chains is not None:
        known.length, known.count = profile.chains.length, profile.chains.count
        known.copies = profile.chains.dense_copies
    known.model, known.folder = model_of_profile(profile)


def _from_server(known: _Known, args: Namespace) -> Running:
    from rebasekit.probes.capacity.model import read_model
    from rebasekit.probes.capacity.server import fetch, running

    reported = running(fetch(args.url))
    known.flags, known.tag, known.weights = reported.flags, reported.tag, reported.weights
    if not args.model:
        folder = Path(reported.model_path)
        if not folder.exists():
            raise UsageError(f"the server's model `{folder}` is not here", hint="name it with --model DIR")
        known.folder, known.model = folder, read_model(folder)
    return reported


def _from_words(known: _Known, args: Namespace) -> None:
    from rebasekit.probes.capacity import flags_from_arguments

    if not args.flags:
        return
    if args.profile or args.url:
        raise UsageError("flags belong to --model; a profile and a server have their own", hint=_HINT)
    if not args.flags[0].startswith("--"):
        raise UsageError(f"`{args.flags[0]}` is not a flag", hint=_HINT)
    known.flags = flags_from_arguments(args.flags)


def _memory(known: _Known, args: Namespace, reported: Running | None) -> None:
    """Sizes that were given, then the log, then what the server says, then the model's files."""
    from rebasekit.probes.capacity.server import memory_from_log

    if args.log:
        try:
            text = Path(args.log).read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise UsageError(f"`{args.log}` cannot be read: {(error.strerror or str(error)).lower()}") from None
        known.free, known.weights = memory_from_log(text)
    elif reported is not None:
        known.free = _free_before(known, reported)
    known.free = _size(args.free, known.free)
    known.weights = _size(args.weights, known.weights) if args.weights else known.weights
    known.total = _size(args.card, known.total)


def _free_before(known: _Known, reported: Running) -> int:
    """What was free before the server took anything: what is free now, and what it says that it took."""
    from rebasekit.probes.capacity import release_of
    from rebasekit.probes.capacity.states import states_of

    free = reported.free_after + reported.kv_bytes + reported.graphs + reported.weights
    ranks = known.flags.attention_ranks(release_of(reported.tag))[0]
    states = states_of(known.model, known.flags, ranks) if known.model is not None else None
    if states is not None and reported.state_slots is not None:
        free += (reported.state_slots + 1) * states.slot
        if known.flags.enable_int8_mamba_checkpoint:
            free += states.checkpoints_bytes(known.flags.int8_mamba_ckpt_size or 2 * reported.state_slots)
    return free


def _size(text: str | None, default: int | None) -> int:
    from rebasekit.model.size import parse_size

    if text is None:
        return default or 0
    try:
        return parse_size(text)
    except ValueError as error:
        raise UsageError(str(error), hint=_HINT) from None


def _deployment(known: _Known, args: Namespace) -> Deployment:
    from rebasekit.model.tag import Tag
    from rebasekit.patches.brief import read_brief
    from rebasekit.probes.capacity import Memory, release_of
    from rebasekit.probes.capacity.model import weights_in
    from rebasekit.probes.capacity.plan import Deployment

    if known.model is None:
        raise UsageError("it is not known which model", hint="name its folder: `tools/capacity --model DIR`")
    if not known.free:
        hint = "say what is free before the weights are loaded: `--free '11.3 GiB'`, or `--log server.log`"
        raise UsageError("it is not known what memory a card has", hint=hint)
    tag = known.tag or Tag.parse(read_brief(_where.project(args) / "patchset").base)
    release = release_of(tag)
    if known.weights is None and known.folder is not None:
        known.weights = weights_in(known.folder) // known.flags.tp_size or None
    if known.weights is None:
        raise UsageError("it is not known what the weights take", hint="say so: `--weights '8.3 GiB'`")
    return Deployment(
        model=known.model,
        flags=known.flags,
        memory=Memory(known.free, known.weights, known.total),
        release=release,
        patched=known.patched,
        length=known.length,
        count=known.count,
        dense_copies=known.copies,
    )
