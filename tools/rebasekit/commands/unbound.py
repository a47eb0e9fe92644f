"""`tools/unbound`: names that will not resolve when the code runs."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from rebasekit.commands import _options, _paths, _where

if TYPE_CHECKING:
    from rebasekit.checks.unbound import Failing
    from rebasekit.console import Console
    from rebasekit.model.tag import Tag
    from rebasekit.steps.workspace import Workspace

HELP = "find names that will not resolve when the code runs"
DESCRIPTION = """\
Find names that will not resolve when the code runs: never bound, bound too late in the function, bound only for
type checkers, or imported by value from a module that rebinds them.

With --tag a release is read as it is, and only what fails on every platform is reported. With --patched the branch
that `rebasekit rebase` wrote is compared with its release: only what is new counts, names bound in one branch of a
platform test and attributes of `self` included. Exit 0: nothing found; 1: findings."""
EXAMPLE = "tools/unbound --tag v0.5.20 sglang/srt/layers/attention\n  tools/unbound --patched v0.5.20 --json"


def add_arguments(parser: ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--tag", metavar="TAG", help="read this release")
    which.add_argument("--patched", metavar="TAG", help="read the series on this release, as the last rebase wrote it")
    parser.add_argument("paths", metavar="PATH", nargs="*", help="files or folders as in the store (default: all)")
    _options.add_json(parser)


def run(args: Namespace, console: Console) -> int:
    from rebasekit.model.tag import Tag

    tag, space = Tag.parse(args.tag or args.patched), _where.workspace(args)
    space.ensure({tag}, console)
    found = _patched(space, tag, args.paths) if args.patched else _pristine(space, tag, args.paths, console)
    data = [{"kind": f.kind, "file": f.file, "line": f.line, "name": f.name, "message": f.message} for f in found]
    if not _options.print_json(args, console, {"findings": data}):
        _show(console, found)
    return 1 if found else 0


def _pristine(space: Workspace, tag: Tag, paths: list[str], console: Console) -> list[Failing]:
    from rebasekit.checks.unbound import RepositoryTree, survey

    wanted = _paths.chosen(space.store.files(tag), paths, tag.name)
    return survey(RepositoryTree(space.store, tag), wanted, console)


def _patched(space: Workspace, tag: Tag, paths: list[str]) -> list[Failing]:
    from rebasekit.checks.unbound import RepositoryTree, compare

    branch = _paths.branch(space, tag)
    before, after = space.store.files(tag), space.store.files(branch)
    changed = {path for path in {*before, *after} if before.get(path) != after.get(path)}
    if paths:
        changed &= set(_paths.chosen({**before, **after}, paths, branch))
    patched = {path: space.store.read(branch, path) for path in sorted(changed)}
    return compare(patched, RepositoryTree(space.store, tag))


def _show(console: Console, found: list[Failing]) -> None:
    from rebasekit.report.report import counted

    for one in found:
        console.line(f"{one.file}:{one.line}: {one.kind}: {one.message}")
    console.note(counted(len(found), "finding") if found else "every name resolves")
