"""`tools/reach`: who builds a class or calls a function, and whether serving gets there."""

from __future__ import annotations

import gc
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from contextlib import ExitStack, closing
from functools import cache
from typing import TYPE_CHECKING, Any

from rebasekit.commands import _options, _where
from rebasekit.errors import StateError, UsageError

if TYPE_CHECKING:
    from rebasekit.checks.reach import Ambiguous, NoSuchName, ReachReport
    from rebasekit.console import Console
    from rebasekit.facts.query import Step
    from rebasekit.facts.source import ListingTree
    from rebasekit.patches.brief import Brief
    from rebasekit.upstream.repository import Repository

HELP = "say who builds a class or calls a function, under which guards, and whether serving gets there"
DESCRIPTION = """\
List every construction site of a class and of its subclasses (or every caller of a function or method) with its
guards and the way from the entry points of series.toml, and a verdict. What series.toml says of the deployment decides
guards; `--assume` adds to it. NAME may be partial or dotted. Exit 0: live; 1: any other verdict; 2: several have that
name; 4: none has."""
EXAMPLE = "tools/reach RadixCache --tag v0.5.19\n  tools/reach MambaComponent.evict_component --json"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="a class, function or method, `Class.method` or the dotted name")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--tag", metavar="TAG", help="read this release (default: the series' base)")
    which.add_argument("--patched", metavar="TAG", help="read the series on this release, as the last rebase wrote it")
    parser.add_argument(
        "--assume", metavar="KEY=VALUE", action="append", default=[], help="a fact of the deployment; repeatable"
    )
    parser.add_argument("--no-deployment", action="store_true", help="leave out what series.toml says of it")
    parser.add_argument("--no-index", action="store_true", help="search the text instead of reading the whole release")
    _options.add_json(parser)


def run(args: Namespace, console: Console) -> int:
    from rebasekit.patches.brief import read_brief

    gc.disable()  # one question, and the process ends
    brief = read_brief(_where.project(args) / "patchset")
    facts = {} if args.no_deployment else dict(brief.facts)
    facts.update(_assumed(args.assume))
    data = _kept(args, brief, facts) or _asked(args, brief, facts, console)
    if not _options.print_json(args, console, data):
        _show(console, data)
    return 0 if data["verdict"] == "live" else 1


def _stored(args: Namespace, brief: Brief) -> tuple[str | None, str]:
    """The commit of the tree that is asked about, None when git or an index has to be asked, and the tag's name."""
    from rebasekit.upstream.places import store_path, written_ref

    tag = "v" + str(args.patched or args.tag or brief.base).removeprefix("v")
    ref = f"refs/heads/rebasekit/{tag}" if args.patched else f"refs/tags/{tag}"
    return written_ref(store_path(_where.cache(args), brief) / "repo.git", ref), tag


def _kept(args: Namespace, brief: Brief, facts: Mapping[str, object]) -> dict[str, Any] | None:
    """The answer, if the same was asked of the same tree before; imports next to nothing."""
    from rebasekit.checks.reach.kept import recall
    from rebasekit.facts.database import Database
    from rebasekit.facts.parts import Parts
    from rebasekit.facts.settings import Settings

    folder = _where.cache(args) / "facts"
    commit, tag = _stored(args, brief)
    if commit is None or args.no_index or not folder.is_dir():
        return None
    with closing(Parts(Database(folder), commit)) as parts:  # the process ends without closing anything by itself
        return recall(parts, Settings(brief.entries), args.name, facts, tag)


def _asked(args: Namespace, brief: Brief, facts: dict[str, object], console: Console) -> dict[str, Any]:
    from rebasekit.checks.reach import Ambiguous, NoSuchName

    tree, tag = _tree(args, brief, console)
    report = _ask(args, brief, tree, tag, facts, console)
    if isinstance(report, NoSuchName):
        close = report.closest[0] if report.closest else ""
        raise StateError(f"{tag} has nothing named `{args.name}`", hint=f"tools/reach {close}" if close else None)
    if isinstance(report, Ambiguous):
        _options.print_json(args, console, report.to_json())
        names = "\n".join(f"  {m.kind} {m.name} ({m.file}:{m.line})" for m in report.matches)
        raise UsageError(f"`{args.name}` may mean\n{names}", hint=f"tools/reach {report.matches[0].name}")
    return report.to_json()


def _tree(args: Namespace, brief: Brief, console: Console) -> tuple[ListingTree, str]:
    """The tree and the tag's name; a release that is not stored is fetched."""
    from rebasekit.facts.source import ListingTree

    commit, tag = _stored(args, brief)
    if commit is None:
        repository, commit, tag = _found(args, brief, console)
        return ListingTree(commit, lambda: repository.files(commit), repository.read_many), tag

    def opened() -> Repository:  # only when files have to be read: a linked tree is answered from facts
        from rebasekit.upstream.places import store_path
        from rebasekit.upstream.repository import Repository

        return Repository(store_path(_where.cache(args), brief) / "repo.git")

    return ListingTree(commit, lambda: opened().files(commit), lambda ids: opened().read_many(ids)), tag


def _found(args: Namespace, brief: Brief, console: Console) -> tuple[Repository, str, str]:
    """The store, the revision's commit and the tag's name, as git says; the release is fetched when it is missing."""
    from rebasekit.model.tag import Tag
    from rebasekit.upstream.store import Store

    tag = Tag.parse(args.patched or args.tag or brief.base)
    store = Store.open(_where.cache(args), brief.source)
    if args.patched:
        try:
            return store, store.commit(f"rebasekit/{tag}"), tag.name
        except StateError:
            hint = f"rebasekit rebase {tag}"
            raise StateError(f"the series has not been carried to {tag} yet", hint=hint) from None
    store.ensure(tag, console)
    return store, store.commit(tag), tag.name


def _ask(
    args: Namespace, brief: Brief, tree: ListingTree, tag: str, assume: dict[str, object], console: Console
) -> ReachReport | Ambiguous | NoSuchName:
    from rebasekit.checks.reach import reach, reach_unindexed
    from rebasekit.facts.query import open_facts, stepper
    from rebasekit.facts.settings import Settings

    settings = Settings(brief.entries)
    if args.no_index:
        return reach_unindexed(tree, settings, args.name, tag=tag, assume=assume)
    with ExitStack() as stack:

        @cache
        def bar() -> Step:  # only where there is something to read: a bar is a thread
            return stepper(stack.enter_context(console.task(f"reading {tag}", unit="files")))

        folder = _where.cache(args) / "facts"
        facts = open_facts(folder, tree, settings, lambda what, done, total: bar()(what, done, total))
    with closing(facts):
        return reach(facts, args.name, tag=tag, assume=assume)


def _assumed(texts: list[str]) -> dict[str, object]:
    words: dict[str, object] = {"true": True, "false": False, "none": None}
    found: dict[str, object] = {}
    for text in texts:
        key, sign, value = text.partition("=")
        if not sign or not key:
            raise UsageError(f"`{text}` is no assumption", hint="tools/reach NAME --assume enable_lmcache=false")
        found[key] = words.get(value.lower(), int(value) if value.lstrip("-").isdigit() else value)
    return found


def _show(console: Console, data: Mapping[str, Any]) -> None:
    from rebasekit.checks.reach.wording import lines
    from rebasekit.visible import visible

    for line in lines(data):
        console.line(visible(line))
