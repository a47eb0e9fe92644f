"""^C in the middle of any command: exit code 130, one line, nothing left behind, and the next run works."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from harness import Case

COMMANDS = {
    "rebase": ("rebase", "v1.1.0"),
    "export": ("export", "--tag", "v1.1.0", "--to", "out"),
    "import": ("import", "in.diff", "--onto", "v1.0.0", "--as", "q"),
    "edit": ("edit", "p"),
    "resolve": ("resolve", "p/one", "--tag", "v1.2.0"),
    "accept": ("accept", "p/two", "--tag", "v1.0.0", "--why", "looked"),
    "apply": ("apply", "--tag", "v1.0.0", "--to", "target"),
    "reach": ("reach", "one", "--tag", "v1.1.0"),
    "survive": ("survive", "--tag", "v1.1.0"),
    "unbound": ("unbound", "--tag", "v1.1.0"),
    "defaults": ("defaults", "--tag", "v1.1.0"),
    "churn": ("churn", "v1.0.0", "v1.1.0"),
    "rename": ("rename", "p", "r"),
}
PROGRAM = """
import pathlib, sys
import rebasekit.console
from rebasekit.cli import main
pathlib.Path(sys.argv.pop(1)).touch()  # from here on ^C is the program's: before, Python itself is loading it
sys.exit(main())
"""
MOMENTS = int(os.environ.get("REBASEKIT_INTERRUPTS", "1"))


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_interrupted(make: Callable[..., Case], tmp_path: Path, name: str) -> None:
    case = make()
    target = case.project / "target"
    for path, data in case.pristine("v1.0.0").items():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_bytes(data)
    if name in ("accept", "rename"):
        assert case.run("rebase", "v1.0.0").exit == 0
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    env = {"TMPDIR": str(temporary)}
    before, ready, hit = case.snapshot(), tmp_path / "ready", 0
    for moment in range(MOMENTS * 3):
        started, seconds = time.monotonic(), 0.02 + moment % 7 * 0.06
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(ready), *COMMANDS[name]],
            cwd=case.project,
            env={**case.env, **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            text=True,
        )
        while not ready.exists() and process.poll() is None and time.monotonic() - started < 30:
            time.sleep(0.01)
        ready.unlink(missing_ok=True)
        time.sleep(seconds)
        with suppress(ProcessLookupError):  # it was quicker
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the command and its children
        _, error = process.communicate(timeout=60)
        hit += process.returncode == 130
        assert process.returncode in (0, 1, 3, 130, -signal.SIGINT), (process.returncode, error)
        assert "Traceback" not in error and "bug in rebasekit" not in error, error
        assert list(temporary.iterdir()) == []
        if process.returncode == 130 and name != "apply":
            assert not list(case.project.glob(".rebasekit-*tmp*"))
        if process.returncode != 130 and case.snapshot() != before:
            return  # it was done, which it may be
    assert hit or MOMENTS < 3, "some of the moments have to lie within the work"
    result = case.run(*COMMANDS[name], json=False)
    assert result.exit in (0, 1, 3), result.stderr
    assert list(temporary.iterdir()) == []
