"""Talking to a git remote: the only commands that see the user's git configuration, for its credentials and proxies."""

from __future__ import annotations

import contextlib
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from packaging.version import Version

from rebasekit.errors import RebasekitError, UpstreamError, UsageError
from rebasekit.model.progress import Progress
from rebasekit.model.tag import Tag
from rebasekit.upstream import command, disk

_SCHEMES = ("file", "https", "ssh", "git")
_CONFIG = {"protocol.version": "2", "fetch.fsckObjects": "false", "fetch.negotiationAlgorithm": "noop",
           "http.lowSpeedLimit": "1000", "http.lowSpeedTime": "60", "fetch.writeCommitGraph": "false",
           "fetch.recurseSubmodules": "false", "transfer.credentialsInUrl": "allow"}  # fmt: skip
_PARTIAL = {"remote.upstream.promisor": "true", "remote.upstream.partialclonefilter": "blob:none"}
_RECEIVED = re.compile(rb"Receiving objects: .*?, ([0-9.]+) (bytes|KiB|MiB|GiB)")
_UNITS = {b"bytes": 1, b"KiB": 1 << 10, b"MiB": 1 << 20, b"GiB": 1 << 30}
_UNREACHED = re.compile(
    r"Could not resolve host|Name or service not known|Temporary failure|Connection (refused|timed out|reset)|"
    r"unable to access|Network is unreachable|Failed to connect|early EOF|hung up unexpectedly|Operation too slow"
)


def check_url(url: str) -> str:
    """The URL or absolute path as git may see it.

    Raises UsageError for an option, a command (`ext::`), a scheme outside file, https, ssh and git, or no URL.
    """
    import git  # a tenth of a second, which `rebasekit --help` need not pay

    try:
        git.Git.check_unsafe_protocols(url)
    except git.exc.UnsafeProtocolError:
        raise UsageError(f"`{shown(url)}` would run a command, it is not a URL") from None
    if not url or url.startswith("-") or not url.isprintable() or re.match(r"[A-Za-z0-9+.-]*::", url):
        raise UsageError(f"`{shown(url)}` is not the URL of a repository")
    if scheme := re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", url):
        if scheme[1] not in _SCHEMES or scheme[2].startswith("-") or "@-" in scheme[2]:
            raise UsageError(f"`{shown(url)}`: use a URL of {', '.join(_SCHEMES)}, or a path")
        return url
    if re.match(r"[^/]*[^/:]:[^:]", url) and not Path(url).exists():  # user@host:path
        if re.match(r"([^/@]*@)?-", url):
            raise UsageError(f"`{shown(url)}` is not the URL of a repository")
        return url
    return str(Path(url).expanduser().absolute())


def shown(url: str) -> str:
    """The URL without a user or password."""
    return re.sub(r"//[^/@]*@", "//", url)


def unreached(told: str) -> bool:
    """Whether git's messages say that nobody answered; a server that says no has answered."""
    return bool(_UNREACHED.search(told)) and not re.search(r"returned error: 4[0-9][0-9]", told)


def list_tags(url: str, *, pre: bool) -> list[Tag]:
    """The remote's tags that are releases, in version order. Raises UpstreamError."""
    try:
        out = command.run(
            ["ls-remote", "--tags", "--refs", "--", url], git_dir=None, cwd=Path("/"), env=_environment(None),
            config={"protocol.version": "2"},
        )  # fmt: skip
    except command.GitFailed as error:
        raise _explain(error, url) from None
    tags = set()
    for line in out.decode(errors="replace").splitlines():
        with contextlib.suppress(RebasekitError):
            tags.add(Tag.parse(line.partition("\t")[2].removeprefix("refs/tags/")))
    return sorted(tag for tag in tags if pre or not Version(tag.version).is_prerelease)


def fetch_tag(url: str, tag: Tag, clone: Path, progress: Progress) -> bool | None:
    """Fetch one commit as `refs/tags/release` of `clone`; whether its blobs were left out, or None for no such tag.

    A plain path is fetched whole: a filter saves nothing there, and takes a second fetch.
    """
    local = not re.match(r"[A-Za-z][A-Za-z0-9+.-]*://|[^/]+:", url)
    for name in (tag.name, tag.version):
        args = ["--depth=1", *([] if local else ["--filter=blob:none"])]
        try:
            told = _fetch(url, [*args, "upstream", f"+refs/tags/{name}:refs/tags/release"], tag, clone, b"", progress)
        except command.GitFailed as error:
            if "couldn't find remote ref" in error.stderr or "no such remote ref" in error.stderr:
                continue
            raise _explain(error, url) from None
        if "filtering not recognized" in told:
            progress.note(f"`{shown(url)}` cannot leave blobs out (uploadpack.allowFilter is off): all were fetched")
            return False
        return not local
    return None


def fetch_blobs(url: str, tag: Tag, clone: Path, ids: Sequence[str], progress: Progress) -> None:
    """Fetch the blobs in one request, or the whole commit from a server that gives no single objects."""
    if not ids:
        return
    wanted = "".join(f"{blob}\n" for blob in ids).encode()
    try:
        _fetch(url, ["--filter=blob:none", "--stdin", "upstream"], tag, clone, wanted, progress)
    except command.GitFailed as error:
        if "not our ref" not in error.stderr and "unadvertised object" not in error.stderr:
            raise _explain(error, url) from None
        progress.note(f"`{shown(url)}` gives no single files: the whole commit is fetched")
        args = ["--depth=1", "--no-filter", "--refetch", "upstream", "+refs/tags/release:refs/tags/release"]
        _fetch(url, args, tag, clone, b"", progress)


def _fetch(url: str, args: Sequence[str], tag: Tag, clone: Path, data: bytes, progress: Progress) -> str:
    """Run `git fetch` with a bar of the bytes that arrive; return its messages."""
    options = ["fetch", "--progress", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"]
    told = bytearray()
    with (
        tempfile.TemporaryFile() as stdin,
        progress.task(f"fetch {tag} of {shown(url)}", None, "bytes") as task,
    ):
        stdin.write(data)
        stdin.seek(0)
        partial = _PARTIAL if "--filter=blob:none" in args else {}
        vector = command.vector([*options, *args], _CONFIG | partial | {"remote.upstream.url": url})
        process = subprocess.Popen(
            vector,
            cwd=clone,
            env=_environment(clone),
            bufsize=0,
            stdin=stdin,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        try:
            assert process.stderr is not None
            seen = 0.0
            while chunk := process.stderr.read(4096):
                told += chunk
                for number, unit in _RECEIVED.findall(chunk):
                    arrived = float(number) * _UNITS[unit]
                    task.advance(max(0.0, arrived - seen))
                    seen = max(seen, arrived)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
    text = told.decode(errors="replace").replace("\r", "\n")
    if process.returncode != 0:
        raise command.failure("fetch", process.returncode, text, clone)
    return text


def _environment(clone: Path | None) -> dict[str, str]:
    return command.environment(clone, user_config=True) | {"GIT_ALLOW_PROTOCOL": ":".join(_SCHEMES)}


def _explain(error: command.GitFailed, url: str) -> RebasekitError:
    if disk.means_full(error.stderr):
        return disk.full(Path.cwd())
    if _UNREACHED.search(error.stderr):
        return UpstreamError(f"no answer from `{shown(url)}`", hint=f"git ls-remote {shown(url)}")
    return UpstreamError(f"`{shown(url)}` cannot be read: {error.message.partition(': ')[2]}")
