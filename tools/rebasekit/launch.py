"""Start of the executables in `tools/`: finds an interpreter that has the dependencies, then runs the command."""

from __future__ import annotations

import os
import sys

# All that any command imports from elsewhere. `tomlkit` stands for them: hardly a command works without it.
_NEEDED = "tomlkit"
_DEPENDENCIES = frozenset({_NEEDED, "filelock", "git", "packaging", "pyflakes", "rich"})
# These answer most questions without any of them, and print nothing before they know the answer.
_ALONE = frozenset({"reach"})


def main(script: str) -> int:
    """Run the command that `script` is named after with this process's arguments; return the exit code."""
    verb = os.path.basename(script)  # noqa: PTH119  # pathlib takes as long to import as some answers
    if not os.environ.get("REBASEKIT_LAUNCHED"):
        _Elsewhere.script = script
        if verb in _ALONE:
            sys.meta_path.append(_Elsewhere)
        elif not _is_here(_NEEDED):
            _Elsewhere.start()
    from rebasekit.cli import main as run

    code = run([verb, *sys.argv[1:]], prog=f"tools/{verb}")
    if verb in _ALONE:
        _leave(code)
    return code


def _leave(code: int) -> None:
    """End the process here: taking down what was unpacked, one object after the other, takes as long as an answer."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        return  # Python's own way out says what is wrong with the output
    os._exit(code)


class _Elsewhere:
    """Asked last for a module that nobody found: if it is one of the dependencies, the command starts over."""

    script = ""

    @classmethod
    def find_spec(cls, name: str, path: object = None, target: object = None) -> None:
        if name in _DEPENDENCIES:
            cls.start()

    @classmethod
    def start(cls) -> None:
        """Become another interpreter that has the dependencies; return when there is none."""
        root = os.path.dirname(os.path.dirname(os.path.realpath(cls.script)))  # noqa: PTH120
        for python in _interpreters(root):
            os.environ["REBASEKIT_LAUNCHED"] = "1"  # once: an environment without the package must not loop
            os.execv(python, [python, cls.script, *sys.argv[1:]])  # noqa: S606  # no shell, our own argument list


def _is_here(package: str) -> bool:
    return any(os.path.isdir(os.path.join(entry, package)) for entry in sys.path)  # noqa: PTH112, PTH118


def _interpreters(root: str) -> list[str]:
    """Pythons of this checkout's environments that hold the dependencies, the user's own first."""
    from pathlib import Path

    homes = [Path(root, ".venv"), *sorted(Path(root).glob(".nox/*"))]
    found = [home / "bin/python" for home in homes if any(home.glob(f"lib/python3*/site-packages/{_NEEDED}"))]
    return [str(python) for python in found]
