"""The project's own repository at its remote: what the bot reads the series from and pushes branches to.

Everything happens in a repository of the bot's own in the cache, made from the remote's branch, so that the user's
checkout, its configuration and its hooks play no part.
"""

from __future__ import annotations

import enum
import hashlib
import re
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from rebasekit.errors import RebasekitError, UpstreamError, UsageError
from rebasekit.upstream import command, disk, transfer
from rebasekit.upstream.credentials import Access
from rebasekit.upstream.importer import AUTHOR

_ID = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_WHO = re.compile(r"([^<>\n\0]+) <([^<>\n\0]+)>")
_SEAL = "Rebasekit-seal"
_PATIENCE = {"http.lowSpeedLimit": "1000", "http.lowSpeedTime": "60"}


class Push(enum.Enum):
    """What became of a push: `STALE` when somebody moved the ref first, `REFUSED` when the remote says no."""

    DONE = "done"
    STALE = "stale"
    REFUSED = "refused"


@dataclass(frozen=True)
class Pushed:
    outcome: Push
    message: str = ""


@dataclass(frozen=True)
class Commit:
    """A commit's header and message, as far as they tell whose it is."""

    id: str
    tree: str
    parents: tuple[str, ...]
    time: int  # seconds since the epoch
    message: str


def checkout_of(folder: Path) -> tuple[str, str]:
    """The URL of `origin` ("" without one) of the checkout that holds `folder`, and the folder's path inside it."""

    # Only the local configuration is asked, and with no GIT_* of the caller's: `folder` decides.
    def ask(*args: str) -> str:
        return command.run(list(args), git_dir=None, cwd=folder, ok=(0, 1, 2, 128)).decode(errors="replace").strip()

    return ask("config", "--local", "--get", "remote.origin.url"), ask("rev-parse", "--show-prefix").rstrip("/")


class Project:
    """The remote, and a repository of ours below `folder`. `author` is `Name <mail>`, for every commit.

    With `dry`, pushes are told to it and not made.
    """

    def __init__(
        self, access: Access, folder: Path, author: str = "", *, dry: Callable[[str], None] | None = None
    ) -> None:
        self.access = access
        self.dry = dry
        self.folder = folder
        self.tree = folder / "tree"
        self.author = author or AUTHOR
        if not _WHO.fullmatch(self.author):
            raise UsageError(f"`{self.author}` is not `Name <mail>`", hint="rebasekit bot --help")

    def checkout(self, branch: str) -> Commit:
        """Have the tip of the remote's branch in `tree`, nothing else; raise UpstreamError when it is not there."""
        try:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.tree.mkdir(parents=True)
        except OSError as error:
            raise disk.explain(error, self.folder) from None
        self._git("init", "--quiet", "--template=", "--initial-branch=base")
        self._fetch(f"refs/heads/{branch}", "refs/heads/base", depth=1)
        self._git("reset", "--quiet", "--hard", "base")
        return self.read("refs/heads/base")

    def restore(self, commit: Commit) -> None:
        """Have a commit's files in `tree` again, nothing else."""
        self._git("reset", "--quiet", "--hard", commit.id)
        self._git("clean", "--quiet", "-ffdx")

    def part(self, commit: Commit, path: str) -> str:
        """The id of a folder or file of a commit, "" when it has none: the same content has the same id."""
        return self._git("ls-tree", commit.id, "--", path).partition("\t")[0].rpartition(" ")[2]

    def heads(self, pattern: str) -> dict[str, str]:
        """The remote's refs that fit, as full names, with their commits."""
        out = self._remote("ls-remote", "--", self.access.url, pattern)
        pairs = (line.split("\t", 1) for line in out.splitlines() if "\t" in line)
        return {name: value for value, name in pairs if _ID.fullmatch(value)}

    def fetched(self, ref: str) -> Commit | None:
        """The commit of a ref of the remote; None when the ref has gone."""
        try:
            self._fetch(ref, "refs/rebasekit/fetched", depth=1)
        except command.GitFailed as error:
            if "couldn't find remote ref" in error.stderr or "no such remote ref" in error.stderr:
                return None
            raise
        return self.read("refs/rebasekit/fetched")

    def read(self, revision: str) -> Commit:
        """A commit that is here."""
        name = self._git("rev-parse", "--verify", f"{revision}^{{commit}}").strip()
        head, _, message = self._git("cat-file", "commit", name).partition("\n\n")
        fields = [line.partition(" ") for line in head.splitlines()]
        tree = next(value for key, _, value in fields if key == "tree")
        parents = tuple(value for key, _, value in fields if key == "parent")
        seconds = next(value for key, _, value in fields if key == "committer").rsplit(" ", 2)[1]
        return Commit(name, tree, parents, int(seconds), message)

    def commit(self, paths: Iterable[str], message: str, on: Commit, seal: str) -> Commit:
        """Commit what is in `tree` below `paths` on top of `on`; the same content gives the same id everywhere.

        `seal` names the branch. With parent and tree it makes a trailer by which `ours` knows the commit again.
        """
        self._git("read-tree", on.id)
        there = [path for path in paths if (self.tree / path).exists() or self._git("ls-files", "--", path)]
        if there:
            self._git("add", "--all", "--", *there)
        tree = self._git("write-tree").strip()
        trailer = f"{_SEAL}: {_sealed(seal, (on.id,), tree)}\n"
        text = f"{message.rstrip()}\n\n{trailer}"
        return self._write(tree, [on.id], text, on.time)

    def ours(self, commit: Commit, seal: str) -> bool:
        """Whether `commit` made this commit for the branch that `seal` names, and nobody touched it since."""
        trailer = f"{_SEAL}: {_sealed(seal, commit.parents, commit.tree)}"
        return commit.message.rstrip().endswith(trailer)

    def note(self, text: str, seconds: int) -> Commit:
        """A commit without parents and files, to put on a ref as a sign for others."""
        tree = self._git("hash-object", "-t", "tree", "-w", "--stdin").strip()
        return self._write(tree, [], text, seconds)

    def push(self, ref: str, commit: str, expected: str) -> Pushed:
        """Set a ref of the remote, only if it still is at `expected` ("" for not there). `commit` "" removes it."""
        if self.dry is not None:
            what = f"push {commit[:12]} to {ref}" if commit else f"remove {ref}"
            self.dry(f"{what}, if it is {f'at {expected[:12]}' if expected else 'not there'}")
            return Pushed(Push.DONE)
        options = ["--no-verify", "--no-follow-tags", "--no-signed", "--recurse-submodules=no"]
        lease = f"--force-with-lease={ref}:{expected}"
        args = ["push", *options, lease, "--", self.access.url, f"{commit}:{ref}"]
        try:
            self._remote(*args)
        except command.GitFailed as error:
            return self._refused(error)
        return Pushed(Push.DONE)

    def _refused(self, error: command.GitFailed) -> Pushed:
        """What a failed push means; raise UpstreamError when the remote did not answer."""
        told = error.stderr  # without --porcelain it has everything
        if "(stale info)" in told or "(fetch first)" in told or "cannot lock ref" in told:
            return Pushed(Push.STALE)
        if transfer.unreached(told):
            raise UpstreamError(f"no answer from `{self.access.url}`", hint=f"git ls-remote {self.access.url}")
        said = [line.removeprefix("remote:").strip() for line in told.splitlines() if line.startswith("remote:")]
        reason = re.search(r"\[(?:remote )?rejected\].*\((.*)\)", told)
        words = [*filter(None, said), reason[1] if reason else ""]
        return Pushed(Push.REFUSED, " ".join(filter(None, words))[:2000] or error.message)

    def _write(self, tree: str, parents: list[str], message: str, seconds: int) -> Commit:
        match = _WHO.fullmatch(self.author)
        assert match is not None
        who = {
            f"GIT_{role}_{key}": value
            for role in ("AUTHOR", "COMMITTER")
            for key, value in (("NAME", match[1]), ("EMAIL", match[2]), ("DATE", f"{seconds} +0000"))
        }
        args = ["commit-tree", "--no-gpg-sign", tree, *(part for parent in parents for part in ("-p", parent))]
        out = command.run(args, git_dir=self.tree / ".git", data=message.encode(), env=self._env() | who)
        return self.read(out.decode().strip())

    def _fetch(self, ref: str, to: str, *, depth: int) -> None:
        options = ["--quiet", "--no-tags", "--no-write-fetch-head", "--update-head-ok", "--no-recurse-submodules"]
        self._remote("fetch", *options, f"--depth={depth}", "--", self.access.url, f"+{ref}:{to}")

    def _env(self) -> dict[str, str]:
        return command.environment(self.tree / ".git", work_tree=self.tree)

    def _git(self, *args: str) -> str:
        out = command.run(args, git_dir=self.tree / ".git", cwd=self.tree, env=self._env())
        return out.decode("utf-8", "surrogateescape")

    def _remote(self, *args: str) -> str:
        """A command that talks to the remote, with the user's ways to reach it and our token for its origin."""
        base = command.environment(self.tree / ".git", user_config=True, work_tree=self.tree)
        env = self.access.environment(base)
        try:
            out = command.run(args, git_dir=self.tree / ".git", cwd=self.tree, env=env, config=_PATIENCE)
        except command.GitFailed as error:
            raise self._explained(error, args[0]) from None
        return out.decode("utf-8", "surrogateescape")

    def _explained(self, error: command.GitFailed, verb: str) -> RebasekitError:
        clean = command.GitFailed(verb, error.code, self.access.redact(error.stderr))
        if verb != "push" and transfer.unreached(clean.stderr):
            return UpstreamError(f"no answer from `{self.access.url}`", hint=f"git ls-remote {self.access.url}")
        return clean


def _sealed(seal: str, parents: Iterable[str], tree: str) -> str:
    return hashlib.sha256("\0".join([seal, *parents, tree]).encode()).hexdigest()[:32]
