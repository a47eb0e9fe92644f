"""`tools/reach`: who builds a class or calls a function, and whether serving gets there."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from rebasekit.commands import _options, _where
from rebasekit.errors import StateError, UsageError

if TYPE_CHECKING:
    from rebasekit.checks.reach import Ambiguous, NoSuchName, ReachReport, Site
    from rebasekit.console import Console
    from rebasekit.patches.brief import Brief
    from rebasekit.upstream.repository import Repository

HELP = "say who builds a class or calls a function, under which guards, and whether serving gets there"
DESCRIPTION = """\
List every construction site of a class and of its subclasses (or every caller of a function or method) with its
guards and the way from the entry points of series.toml, and a verdict. What series.toml says of the deployment decides
guards; `--assume` adds to it. NAME may be partial or dotted. Exit 0: live; 1: any other verdict; 4: no such name."""
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
    from rebasekit.checks.reach import Ambiguous, NoSuchName
    from rebasekit.patches.brief import read_brief

    brief = read_brief(_where.project(args) / "patchset")
    repository, revision, tag = _tree(args, brief, console)
    facts = {} if args.no_deployment else dict(brief.facts)
    facts.update(_assumed(args.assume))
    report = _ask(args, brief, repository, revision, tag, facts, console)
    if isinstance(report, NoSuchName):
        close = report.closest[0] if report.closest else ""
        raise StateError(f"{tag} has nothing named `{args.name}`", hint=f"tools/reach {close}" if close else None)
    if isinstance(report, Ambiguous):
        names = "\n".join(f"  {m.kind} {m.name} ({m.file}:{m.line})" for m in report.matches)
        raise UsageError(f"`{args.name}` may mean\n{names}", hint=f"tools/reach {report.matches[0].name}")
    if not _options.print_json(args, console, report.to_json()):
        _show(console, report)
    return 0 if report.verdict == "live" else 1


def _tree(args: Namespace, brief: Brief, console: Console) -> tuple[Repository, str, str]:
    """The repository, the revision's commit, and the tag; the release is fetched when it is not stored."""
    from rebasekit.model.tag import Tag
    from rebasekit.upstream.cache import store_path
    from rebasekit.upstream.repository import Repository

    tag = Tag.parse(args.patched or args.tag or brief.base)
    repository = Repository(store_path(_where.cache(args), brief.source) / "repo.git")
    branch = f"rebasekit/{tag}" if args.patched else f"{tag}"
    try:
        return repository, repository.commit(branch), tag.name
    except StateError:
        if args.patched:
            hint = f"rebasekit rebase {tag}"
            raise StateError(f"the series has not been carried to {tag} yet", hint=hint) from None
    from rebasekit.upstream.store import Store

    store = Store.open(_where.cache(args), brief.source)
    store.ensure(tag, console)
    return store, store.commit(tag), tag.name


def _ask(
    args: Namespace,
    brief: Brief,
    repository: Repository,
    revision: str,
    tag: str,
    assume: dict[str, object],
    console: Console,
) -> ReachReport | Ambiguous | NoSuchName:
    from rebasekit.checks.reach import reach, reach_unindexed
    from rebasekit.facts.query import open_facts
    from rebasekit.facts.settings import Settings
    from rebasekit.facts.source import ListingTree

    tree = ListingTree(revision, lambda: repository.files(revision), repository.read_many)
    settings = Settings(brief.entries)
    if args.no_index:
        return reach_unindexed(tree, settings, args.name, tag=tag, assume=assume)
    bars: dict[str, int] = {}
    with console.task(f"reading {tag}", unit="files") as task:

        def step(what: str, done: int, total: int) -> None:
            task.advance(done - bars.get(what, 0))
            bars[what] = done

        facts = open_facts(_where.cache(args) / "facts", tree, settings, step)
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


def _show(console: Console, report: ReachReport) -> None:
    from rebasekit.visible import visible

    console.line(f"{report.kind} {report.name} in {report.tag}, {report.file}:{report.line}: {report.verdict}")
    for why in report.why:
        console.line(f"  {visible(why)}")
    for instead in report.instead:
        console.line(f"  taken instead: {visible(instead)}")
    for site in report.sites:
        _show_site(console, site)


def _show_site(console: Console, site: Site) -> None:
    from rebasekit.visible import visible

    ruled = ", ruled out" if site.ruled_out else ""
    console.line(f"{site.file}:{site.line}: {site.liveness}{ruled}, {site.how}, in {site.scope or 'the module'}")
    for guard in site.guards:
        console.line(f"    if {visible(guard)}")
    if site.chain:
        console.line("    from " + " → ".join(step.scope or step.file for step in site.chain))
