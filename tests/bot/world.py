"""`World`: an upstream with tags, a project with a bare remote, and a forge that reads that remote."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from harness import Case, Result, Tree, patch_toml, series
from standin import NAME, Standin, State, User

TOKEN = "ghs_verysecret0123456789"
BOT = "bot-of-ours"
BASE = {"a.py": "def f():\n    x = 1\n    return x\n"}
SHIFTED = {"a.py": "def f():\n    # new\n    w = 0\n    x = 1\n    return x\n"}
NEWER = {"a.py": "def f():\n    # newer\n    x = 1\n    return x\n"}
GONE = {"a.py": "def g():\n    return 2\n"}
HUNK = 'id = "y"\nfile = "a.py"\nscope = "f"\nplace = "after"\nat = "x = 1"\nlines = "y = 2"'


class World:
    """One of each. `tags` are upstream's releases after v1.0.0."""

    def __init__(self, root: Path, server: Standin, url: str, **tags: Tree) -> None:
        self.server, self.url, self.root = server, url, root
        upstream = {"v1.0.0": BASE, "v1.1.0": SHIFTED}
        patchset = {"p/patch.toml": patch_toml(HUNK), "series.toml": series("v1.0.0", patches=["p"])}
        self.case = Case(root / "case", upstream=upstream, patchset=patchset)
        self.bare = root / "remote.git"
        self.project = self.case.project
        self.git("init", "-q", "--bare", "-b", "main", str(self.bare), cwd=root)
        self.git("init", "-q", "-b", "main")
        self.git("remote", "add", "origin", str(self.bare))
        self.commit("start")
        server.state = State(bare=self.bare, users={TOKEN: User(BOT)})

    @property
    def state(self) -> State:
        return self.server.state

    def git(self, *argv: str, cwd: Path | None = None, **env: str) -> str:
        where, env = cwd or self.project, {**self.case.env, **env}
        done = subprocess.run(["git", *argv], cwd=where, env=env, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def commit(self, message: str) -> str:
        """Commit the project's files and push them to the remote's main."""
        self.git("add", "--all")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        self.git("push", "-q", "origin", "HEAD:main")
        return self.git("rev-parse", "HEAD")

    def bot(self, *argv: str, token: str = TOKEN, spawn: bool = False, **env: str) -> Result:
        """Run the bot; each call is one run of a schedule."""
        words = ["bot", "--api", self.url, "--repository", NAME, "--pace", "0", *argv]
        run = self.case.spawn if spawn else self.case.run
        return run(*words, json=False, env={"REBASEKIT_TOKEN": token, **env})

    def push(self, branch: str, files: dict[str, str], message: str = "mine") -> str:
        """Somebody pushes a commit onto a branch of the remote."""
        there = self.root / f"clone-{len(list(self.root.iterdir()))}"
        self.git("clone", "-q", "-b", branch, str(self.bare), str(there), cwd=self.root)
        for name, text in files.items():
            (there / name).write_text(text)
        self.git("add", "--all", cwd=there)
        self.git("commit", "-q", "-m", message, cwd=there)
        self.git("push", "-q", "origin", f"HEAD:{branch}", cwd=there)
        return self.git("rev-parse", "HEAD", cwd=there)

    def refuse(self, pattern: str, says: str) -> None:
        """The remote's hook refuses refs that fit."""
        hook = self.bare / "hooks" / "update"
        hook.write_text(f'#!/bin/sh\ncase "$1" in {pattern}) echo "{says}" >&2; exit 1;; esac\n')
        hook.chmod(0o755)

    def refs(self) -> dict[str, str]:
        """All refs of the remote, the bot's lock included if one is left."""
        out = self.git("for-each-ref", "--format=%(refname) %(objectname)", cwd=self.bare)
        return dict(line.split() for line in out.splitlines())

    def show(self, revision: str, path: str) -> str:
        return self.git("show", f"{revision}:{path}", cwd=self.bare)

    def pull(self, number: int) -> dict[str, Any]:
        return self.state.entries[number]

    def labels(self, number: int) -> set[str]:
        return {label["name"] for label in self.state.entries[number]["labels"]}

    def said(self, number: int) -> list[str]:
        return [comment["body"] for comment in self.state.comments.get(number, [])]

    def writes(self) -> list[tuple[str, str]]:
        """The forge's changes so far, and a clean slate."""
        found = [(call.verb, call.path) for call in self.state.calls if call.writes]
        self.state.calls.clear()
        return found
