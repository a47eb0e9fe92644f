"""`rebasekit verify-install`: whether an environment really holds the patched release."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rebasekit.commands import _options, _serving, _where

if TYPE_CHECKING:
    from rebasekit.console import Console

HELP = "prove that an environment holds the patched release, all of it and nothing else"
DESCRIPTION = """\
Ask an environment's own Python what it would import, and hold it against the placement proof: the files of the
series byte for byte, upstream's files, compiled modules that load, no older tree on the path, no second copy, no
.pyc that would run instead of its source. Run it with the PYTHONPATH and in the folder that the server gets.
Exit code 1 when something is wrong."""
EXAMPLE = "rebasekit verify-install v0.5.20 --python /srv/venv/bin/python"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("tag", metavar="TAG", help="the release that the environment should hold")
    parser.add_argument(
        "--python", metavar="FILE", help="the environment's Python (default: the one that `build` made)"
    )
    parser.add_argument("--cwd", metavar="DIR", default=".", help="the folder in which the server starts (default: .)")
    parser.add_argument("--no-load", action="store_true", help="do not try to load compiled modules")
    _options.add_json(parser)


def run(args: Namespace, console: Console) -> int:
    from rebasekit.errors import StateError
    from rebasekit.model.tag import Tag
    from rebasekit.steps.build_env import Environment
    from rebasekit.steps.build_proof import prove, work_folder
    from rebasekit.steps.install import verify

    if args.json == "-":
        console.reserve_stdout()
    space, tag = _where.workspace(args), Tag.parse(args.tag)
    python = Path(args.python) if args.python else Environment(work_folder(space, tag) / "patched").python
    if not python.exists():
        raise StateError(f"there is no `{python}`", hint=f"rebasekit build {tag}")
    content = prove(space, tag, console).content
    found = verify(python, content, cwd=Path(args.cwd), load=not args.no_load)
    data = {"schema": 1, "tag": tag.name, "version": content.version, "ok": not found.findings, **asdict(found)}
    _options.print_json(args, console, data)
    _serving.show_installation(console, found, content)
    return 1 if found.findings else 0
