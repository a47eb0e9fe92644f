"""What people and CI run: `nox --list` shows it, `nox -s NAME -- ARGUMENTS` runs it.

Each session keeps its environment and installs again only when pyproject.toml, this file or Python changed: a warm
`nox -s rebase` spends its time on the rebase.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
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
    """Check style, formatting and the direction of imports (ruff, import-linter)."""
    install(session, ".[dev]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("lint-imports", "--no-cache", env={"PYTHONPATH": "tools"})


@nox.session
def types(session: nox.Session) -> None:
    """Check types (mypy --strict)."""
    install(session, ".[dev]")
    session.run("mypy", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Measure speed, and hunks that need a person, beside `git rebase` and other tools."""
    install(session, ".[dev,plots]")
    session.run("python", "-m", "tests.bench", *session.posargs)


@nox.session
def synthetic(session: nox.Session) -> None:
    """Carry made-up changes over made-up upstreams, 10,000 times, beside git's merge: `-- --cases N --start N`."""
    install(session, ".[dev]")
    session.run("python", "-m", "tests.synthetic", *session.posargs)


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


def each_release(name: str, verb: str) -> None:
    """`build-v0.5.20` and so on, so that a CI matrix can take `nox -t builds --list --json`."""
    tags = (path.stem for path in (ROOT / "upstream-map").glob("v[0-9]*.toml"))
    for tag in sorted(tags, key=lambda tag: [int(part) for part in re.findall("[0-9]+", tag)]):

        def run(session: nox.Session, tag: str = tag) -> None:
            install(session, ".[serve]")
            session.run("python", "-m", "rebasekit", verb, tag, *session.posargs)

        run.__doc__ = f"The session `{name}` for {tag}."
        nox.session(run, name=f"{name}-{tag}", tags=[f"{name}s"])


each_release("build", "build")
each_release("smoke", "smoke")


@nox.session
def docs(session: nox.Session) -> None:
    """Draw the README's picture from a real run: `nox -s docs -- v0.5.20`."""
    install(session, ".[dev]")
    session.run("python", "-m", "tests.pictures", *session.posargs)
