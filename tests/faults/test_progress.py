"""Whatever takes more than two seconds says what it does meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rebasekit.model.tag import Tag

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = {
    "reach": ("reach", "RadixCache", "--tag", "v0.5.20"),
    "survive": ("survive", "--tag", "v0.5.20"),
    "defaults": ("defaults", "--tag", "v0.5.20"),
    "export": ("export", "--tag", "v0.5.20", "--diff"),
    "rebase": ("rebase", "v0.5.20", "--only", "checkpoint-pool", "--json", os.devnull),
}


@pytest.mark.release
@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_long_work_is_announced(name: str, need_release: Callable[..., list[Tag]]) -> None:
    """A gap of more than three seconds without a line is silence, but for what a bar on a terminal would show."""
    from releases import release_cache

    need_release("v0.5.19", "v0.5.20")
    env = {**os.environ, "REBASEKIT_CACHE": str(release_cache())}
    start = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "rebasekit", *COMMANDS[name]],
        cwd=ROOT,
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    said = [(time.monotonic() - start, line.strip()) for line in process.stderr]
    assert process.wait() in (0, 1, 3)
    tasks = [(when, line) for when, line in said if line.endswith("…")]
    assert time.monotonic() - start < 2 or tasks, said
    assert not tasks or tasks[0][0] < 10, "the first line comes when the work begins, not at its end"
