"""Findings: one thing wrong on a patched tree, of a fixed kind."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """`file` and `line` (1-based, 0 when there is none) are in the tree of the tag; `next` is a command to run."""

    kind: str
    file: str
    line: int
    message: str
    next: str
    patch: str = ""
    hunk: str = ""
