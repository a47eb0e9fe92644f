"""Start of the executables in `tools/`: finds an interpreter that has the dependencies, then runs the command."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

# A stand-in for all dependencies: `tomlkit` reads the patchset, so hardly a command works without it.
_NEEDED = "tomlkit"


def main(script: str) -> int:
    """Run the command that `script` is named after with this process's arguments; return the exit code."""
    if find_spec(_NEEDED) is None and not os.environ.get("REBASEKIT_LAUNCHED"):
        for python in _interpreters(Path(script).resolve().parent.parent):
            os.environ["REBASEKIT_LAUNCHED"] = "1"  # once: an environment without the package must not loop
            os.execv(python, [str(python), script, *sys.argv[1:]])  # noqa: S606  no shell, our own argument list
    from rebasekit.cli import main as run

    verb = Path(script).name
    return run([verb, *sys.argv[1:]], prog=f"tools/{verb}")


def _interpreters(root: Path) -> list[Path]:
    """Pythons of this checkout's environments that hold the dependencies, the user's own first."""
    homes = [root / ".venv", *sorted(root.glob(".nox/*"))]
    return [home / "bin/python" for home in homes if any(home.glob(f"lib/python3*/site-packages/{_NEEDED}"))]
