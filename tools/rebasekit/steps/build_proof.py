"""From a placed series to a wheel and the packages under it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rebasekit.errors import StateError, UsageError
from rebasekit.model.progress import SILENT, Progress
from rebasekit.model.tag import Tag
from rebasekit.patches.digest import series_digest
from rebasekit.steps import build_env, build_needs, build_wheel
from rebasekit.steps.build_content import Content, content, differences
from rebasekit.steps.build_env import Environment
from rebasekit.steps.build_record import path_of, record_of, write_record
from rebasekit.steps.export import placed
from rebasekit.steps.rebase import Result, modes
from rebasekit.steps.workspace import Workspace
from rebasekit.upstream.lock import held


@dataclass(frozen=True)
class Proof:
    """The series placed on a release: upstream's wheel, and what the patched one has to hold."""

    tag: Tag
    content: Content
    upstream: Path
    result: Result = field(repr=False)


@dataclass(frozen=True)
class Wheel:
    """A built wheel and the proof that it was held against."""

    path: Path
    proof: Proof

    @property
    def tag(self) -> Tag:
        return self.proof.tag

    @property
    def content(self) -> Content:
        return self.proof.content


def prove(space: Workspace, tag: Tag, progress: Progress = SILENT, upstream: Path | None = None) -> Proof:
    """Place the series; raise StateError when a hunk has no place on the release.

    `upstream` is a wheel of the release for another Python or platform; the stored one is taken without it. Raises
    UsageError when more than compiled files tells the two apart: then the hunks were placed on something else.
    """
    result = placed(space, tag, None, progress)
    stored = space.store.wheel(tag, progress)
    if upstream is None:
        upstream = stored
    elif differs := build_wheel.differing(upstream, stored):
        raise UsageError(f"`{upstream}` is not {tag} as it is stored: `{differs[0]}` differs", hint="pip download")
    version = build_wheel.local_version(tag, series_digest(space.series))
    return Proof(tag, content(upstream, result.outcomes.tree.bytes(), version), upstream, result)


def make_wheel(space: Workspace, proof: Proof, out: Path, progress: Progress = SILENT) -> Wheel:
    """Write the patched wheel with its record beside it, and hold it against the proof before anybody gets it."""
    result = proof.result
    executable = {path for stage in result.outcomes.stages for path in modes(stage.patch, result)}
    changes, digest = result.outcomes.tree.bytes(), series_digest(space.series)
    path = build_wheel.write_wheel(proof.upstream, changes, executable, proof.tag, digest, out, progress)
    if wrong := differences(path, proof.content):
        path.unlink()
        raise StateError(f"the wheel that was written differs from the placement proof at `{wrong[0]}`")
    write_record(record_of(space.series, proof.tag, proof.content, result), path_of(path))
    return Wheel(path, proof)


def base_of(space: Workspace, proof: Proof, progress: Progress = SILENT, *, cpu: bool = True) -> Environment:
    """The layers that the release's requirements need; with `cpu`, less what a machine without a GPU cannot use."""
    build_wheel.require_fitting(proof.upstream)
    exceptions = build_needs.read_exceptions(space.root) if cpu else build_needs.Exceptions()
    wanted = build_needs.needs(build_wheel.metadata_of(proof.upstream), exceptions, proof.tag)
    return build_env.base(space.cache, wanted, progress)


@contextlib.contextmanager
def working(space: Workspace, tag: Tag, work: str, progress: Progress = SILENT) -> Iterator[Path]:
    """Have the release's folder to oneself: an environment that is made anew is taken from under whoever runs in it."""
    folder = work_folder(space, tag)
    with held(folder / "work.lock", work, progress):
        yield folder


def work_folder(space: Workspace, tag: Tag) -> Path:
    """Where a release's trees, environments and logs lie in the cache."""
    folder = space.cache / "serve" / tag.name
    folder.mkdir(parents=True, exist_ok=True)
    return folder
