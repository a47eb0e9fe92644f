"""Unified diffs of two texts, by git, so that hunks look as they do everywhere else in the toolkit."""

from __future__ import annotations

import tempfile
from pathlib import Path

from rebasekit.upstream import command


def diff_unified(a: str, b: str, path_a: str, path_b: str | None = None, *, context: int = 3) -> str:
    """The unified diff that turns `a` into `b`, "" when they are equal; it says when a last newline is missing."""
    if a == b:
        return ""
    with tempfile.TemporaryDirectory(prefix="rebasekit-diff-") as name:
        for side, text in (("a", a), ("b", b)):
            Path(name, side).write_bytes(text.encode("utf-8", "surrogateescape"))
        env = command.environment(None) | {"GIT_CEILING_DIRECTORIES": str(Path(name).parent)}
        args = ["diff", "--no-index", "--no-color", "--no-ext-diff", "--text", f"-U{context}", "--", "a", "b"]
        out = command.run(args, git_dir=None, cwd=Path(name), env=env, ok=(0, 1))
    hunks = out.decode("utf-8", "surrogateescape")
    return f"--- a/{path_a}\n+++ b/{path_b or path_a}\n{hunks[hunks.index('@@ ') :]}"
