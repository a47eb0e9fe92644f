"""Releases from a package index: one wheel each, fetched by pip and kept."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable
from pathlib import Path

from packaging.utils import canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from rebasekit.errors import UpstreamError, UsageError
from rebasekit.model.progress import Progress
from rebasekit.model.tag import Tag
from rebasekit.upstream import pip
from rebasekit.upstream.archive import Limits, Wheel
from rebasekit.upstream.nearest import unknown_tag
from rebasekit.upstream.record import is_release
from rebasekit.upstream.release import BrokenArchive, Release

_WHEEL = re.compile(r"[A-Za-z0-9_.]+-[A-Za-z0-9_.!+%]+-(?:[0-9]\w*-)?[a-z0-9_.]+-[a-z0-9_.]+-\w[\w.]*\.whl")
_VERSIONS = re.compile(r"^Available versions: (.*)$", re.MULTILINE)
_FROM = re.compile(r"\(from versions: ([^)]*)\)")
_YANKED = re.compile(r"Reason for being yanked: (.*)")


class PypiSource:
    """The wheels of one package. `wheels` is where they are kept for building."""

    def __init__(self, package: str, wheels: Path, limits: Limits | None = None) -> None:
        self._package = package
        self._wheels = wheels
        self._limits = limits

    def available(self, progress: Progress, *, pre: bool = False) -> list[Tag]:
        """The releases that the index has as wheels for any platform, yanked ones left out.

        `pip index versions` is experimental (pip 23.2 to 26); when it fails, the list in the error of an impossible
        download does. Raises UpstreamError when the index cannot be reached or does not know the package.
        """
        args = ["index", "versions", self._package, "--pre", "--only-binary=:all:", "--ignore-requires-python"]
        with tempfile.TemporaryDirectory(prefix="rebasekit-pip-") as name:
            ran = pip.run(args, Path(name), progress, f"list {self._package}")
            listed = _VERSIONS.search(ran.text) or _FROM.search(ran.text)
            if ran.code != 0 and listed is None and not ran.unreached:
                ran = pip.run(self._download("0+none", Path(name)), Path(name), progress, f"list {self._package}")
                listed = _FROM.search(ran.text)
        versions = set(re.split(r",\s*", listed[1])) if listed else set()
        versions |= {str(parse_wheel_filename(name)[1]) for name in self._skipped(ran.text)}
        tags = _tags(versions - {"none"}, pre=pre)
        if not tags and ran.unreached:
            raise UpstreamError(f"no answer from the package index for `{self._package}`", hint="pip config list")
        if not tags:
            raise UpstreamError(f"the package index has no wheels of `{self._package}`", hint="pip config list")
        return tags

    def kept(self, tag: Tag) -> Path | None:
        """The kept wheel of a release, if there is one."""
        found = [w for w in sorted(self._wheels.glob("*.whl")) if is_release(w.name, self._package, tag.version)]
        return found[0] if found else None

    def fetch(self, tag: Tag, work: Path, progress: Progress) -> Release:
        """The release out of its kept wheel, or out of one that pip fetches now.

        Raises UpstreamError: no such release, no network, a wheel that is broken or hostile; StateError: no space.
        """
        reader = self._reader(self.kept(tag), tag)
        fetched = reader is None
        reader = reader or Wheel(self._downloaded(tag, work, progress), self._package, tag.version, self._limits)
        wheel = reader.path

        def keep() -> None:
            if fetched:
                self._wheels.mkdir(exist_ok=True)
                wheel.replace(self._wheels / wheel.name)

        def drop() -> bool:
            wheel.unlink(missing_ok=True)
            return not fetched

        title = f"{self._package} {tag.version}"
        return Release(title, f"{title}\n", reader.size, reader.members(), keep, drop)

    def _reader(self, kept: Path | None, tag: Tag) -> Wheel | None:
        """The kept wheel opened; one that went bad on the disk is removed, so that it is fetched again."""
        try:
            return None if kept is None else Wheel(kept, self._package, tag.version, self._limits)
        except BrokenArchive:
            assert kept is not None
            kept.unlink(missing_ok=True)
            return None

    def _downloaded(self, tag: Tag, work: Path, progress: Progress) -> Path:
        label = f"fetch {self._package} {tag.version}"
        out = work / "wheel"
        ran = pip.run(self._download(tag.version, out), work, progress, label)
        if ran.code != 0 and (foreign := self._foreign(ran.text, tag)):
            progress.note(f"`{tag}` has no wheel for this Python and platform; `{foreign}` is read instead")
            ran = pip.run([*self._download(tag.version, out), *_platform(foreign)], work, progress, label)
        for reason in _YANKED.findall(ran.text):
            progress.note(f"`{tag}` was yanked from the index: {reason.strip() or 'no reason given'}")
        found = [file for file in out.glob("*.whl") if is_release(file.name, self._package, tag.version)]
        if ran.code == 0 and found:
            return found[0]
        raise self._explain(ran, tag)

    def _download(self, version: str, out: Path) -> list[str]:
        options = ["--no-deps", "--only-binary=:all:", "--progress-bar=off", "--dest", str(out)]
        return ["download", *options, f"{self._package}=={version}"]

    def _explain(self, ran: pip.PipRun, tag: Tag) -> UpstreamError:
        listed = _FROM.search(ran.text)
        versions = set(re.split(r",\s*", listed[1])) - {"none"} if listed else set()
        versions |= {str(parse_wheel_filename(name)[1]) for name in self._skipped(ran.text)}
        if "DO NOT MATCH THE HASHES" in ran.text:
            return BrokenArchive(f"the wheel of `{tag}` is not the one that the index promises: its hash differs")
        if ran.unreached and tag.version not in versions:
            return UpstreamError(f"no answer from the package index, and `{tag}` is not stored", hint="pip config list")
        if listed and tag.version not in versions:
            return unknown_tag(tag, self._package, _tags(versions, pre=True))
        return UpstreamError(f"pip could not fetch `{self._package}` {tag.version}: {ran.errors}")

    def _skipped(self, text: str) -> list[str]:
        """The wheels of the package that pip's log passes over because they are for other platforms or Pythons."""
        lines = (line for line in text.splitlines() if "Skipping link: none of the wheel's tags" in line)
        names = {name for line in lines for name in _WHEEL.findall(line)}
        return sorted(name for name in names if self._is_ours(name))

    def _is_ours(self, name: str) -> bool:
        try:
            return parse_wheel_filename(name)[0] == canonicalize_name(self._package)
        except ValueError:
            return False

    def _foreign(self, text: str, tag: Tag) -> str | None:
        """The wheel to read where none fits: x86-64 Linux and the newest Python first, as most releases have it."""
        names = [name for name in self._skipped(text) if is_release(name, self._package, tag.version)]
        return max(names, key=lambda name: ("x86_64" in name, "linux" in name, name), default=None)


def _platform(name: str) -> list[str]:
    """pip's options that make exactly this wheel fit."""
    wanted = sorted(parse_wheel_filename(name)[3], key=str)[0]
    version = re.sub(r"\D", "", wanted.interpreter) or "3"
    implementation = re.sub(r"\d", "", wanted.interpreter)
    options = ["--platform", wanted.platform, "--python-version", version, "--implementation", implementation]
    return [*options, "--abi", wanted.abi, "--ignore-requires-python"]


def _tags(versions: Iterable[str], *, pre: bool) -> list[Tag]:
    tags = []
    for version in versions:
        try:
            if pre or not Version(version).is_prerelease:
                tags.append(Tag.parse(version))
        except (InvalidVersion, UsageError):  # a name from the days before PEP 440
            continue
    return sorted(tags)
