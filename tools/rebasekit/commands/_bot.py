"""How a run of the bot is put together from the command line, the environment and the checkout."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from rebasekit.commands import _where

if TYPE_CHECKING:
    from rebasekit.console import Console
    from rebasekit.forge.forge import Forge
    from rebasekit.model.tag import Tag
    from rebasekit.steps.bot.carried import Carried
    from rebasekit.steps.bot.publish import Done
    from rebasekit.steps.bot.run import Bot, Page, Trouble
    from rebasekit.steps.bot.settings import Settings
    from rebasekit.steps.bot.trials import Trials
    from rebasekit.steps.workspace import Workspace

_DAY = 86_400.0  # seconds; no run takes that long
_ACTIONS = "github-actions[bot]"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+")


@contextmanager
def folder(cache: Path) -> Iterator[Path]:
    """A folder for one run, so that two at once do not meet in it."""
    above = cache / "bot"
    above.mkdir(parents=True, exist_ok=True)
    for left in above.glob("run-*"):  # by a run that was killed
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _DAY:
                shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=above, prefix="run-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def make(args: Namespace, console: Console, token: str, folder: Path) -> Bot:
    """The bot with everything that it needs. Raises UsageError for what is not known, ForgeError, UpstreamError."""
    from rebasekit.errors import StateError, UsageError
    from rebasekit.model.tag import Tag
    from rebasekit.steps.bot.lock import Times
    from rebasekit.steps.bot.run import Bot, Wording
    from rebasekit.steps.bot.settings import Settings
    from rebasekit.upstream.credentials import Access
    from rebasekit.upstream.project import Project, checkout_of

    origin, where = checkout_of(_where.project(args))
    url = args.remote or origin
    if not url:
        raise UsageError("the checkout has no remote `origin`", hint="rebasekit bot --remote URL")
    access = Access.of(url, token)
    repository = args.repository or os.environ.get("GITHUB_REPOSITORY") or _name_in(access.url)
    if not _NAME.fullmatch(repository):
        raise UsageError(
            f"`{repository or access.url}` does not say which repository it is on the forge",
            hint="rebasekit bot --repository OWNER/NAME",
        )
    if not token and not args.dry_run:
        raise StateError("there is no token", hint="set REBASEKIT_TOKEN, or try `rebasekit bot --dry-run`")
    dry = console.line if args.dry_run else None
    forge = _forge(args, console, token, repository, access.url)
    settings = Settings(
        cache=_where.cache(args),
        out=Path(args.out).absolute(),
        branch=args.branch or forge.default_branch(),
        where=where,
        tags=tuple(map(Tag.parse, args.tag)),
        newest=args.newest,
        pre=args.pre,
        build=not args.no_build,
        smoke=not args.no_smoke,
        results=Path(args.results).absolute() if args.results else None,
        again=args.again,
    )
    if args.dry_run and not token:
        console.note("there is no token, so nothing is read: this is what a first run would do")
    return Bot(
        settings,
        Project(access, folder, args.author, dry=dry),
        forge,
        Wording(page=_page(args, settings, console), trouble=_trouble(args)),
        # A run that is alive answers within its patience, so a lock that is older than that is nobody's.
        times=Times(stale=args.patience + 60, patience=args.patience + 120),
        say=lambda done: console.line(line(done)),
        progress=console,
    )


def _forge(args: Namespace, console: Console, token: str, repository: str, url: str) -> Forge:
    from rebasekit.forge.calls import Calls, ForgeError, Settings
    from rebasekit.forge.forge import Forge

    api = (args.api or os.environ.get("GITHUB_API_URL") or _api_of(url)).rstrip("/")
    settings = Settings(api, repository, token, patience=args.patience, between_writes=args.pace)
    calls = Calls(settings, dry=console.line if args.dry_run else None, progress=console)
    try:
        return Forge(calls, args.login or "")
    except ForgeError as error:
        if error.status == 403 and not error.limited and os.environ.get("GITHUB_ACTIONS") == "true":
            return Forge(calls, _ACTIONS)  # a workflow's own token may not ask who it is
        raise


def _name_in(url: str) -> str:
    found = re.search(r"[/:]([^/:]+/[^/:]+?)(\.git)?/?$", url)
    return found[1] if found else ""


def _api_of(url: str) -> str:
    """GitHub's API for its own host, an enterprise server's for any other."""
    host = urlsplit(url).hostname or (re.match(r"(?:[^/@]*@)?([^/:]+):", url) or ["", ""])[1]
    return "https://api.github.com" if host in ("github.com", "ssh.github.com", "", None) else f"https://{host}/api/v3"


def _page(args: Namespace, settings: Settings, console: Console) -> Callable[[Workspace, Carried, Trials], Page]:
    """What writes a release's texts: the whole report into OUT, and the pull request's."""

    def page(space: Workspace, carried: Carried, tried: Trials) -> Page:
        from rebasekit.report import attached, pull_request
        from rebasekit.report.report import Report
        from rebasekit.steps.background import background
        from rebasekit.steps.bot.run import Page

        verdict = carried.verdict
        out = settings.out / carried.tag.name
        out.mkdir(parents=True, exist_ok=True)
        whole = attached.files(Report.of(verdict), background(space, verdict, console), carried.link)
        for name, data in whole.items():
            (out / name).write_bytes(data)
        text = pull_request.body(carried, tried, args.attached)
        (out / "pull-request.md").write_text(text, encoding="utf-8", errors="backslashreplace")
        return Page(pull_request.title(carried), text, pull_request.label(carried, tried))

    return page


def _trouble(args: Namespace) -> Callable[[Trouble], tuple[str, str]]:
    def trouble(found: Trouble) -> tuple[str, str]:
        from rebasekit.report import trouble as text

        return text.title(found.key), text.body(found.key, found.error, args.attached)

    return trouble


def line(done: Done) -> str:
    """`v0.5.20  opened #3 (clean)  https://…`."""
    number = f" #{done.number}" if done.number else ""
    text = f" ({done.text})" if done.text and not done.failed else ""
    parts = [f"{done.tag or 'the run'}", f"{done.what.value}{number}{text}", done.url]
    if done.failed:
        parts = [parts[0], f"failed{f', reported as{number}' if number else ''}: {done.text}"]
    return "  ".join(filter(None, parts))


def without_forge(args: Namespace, console: Console) -> int:
    """`--list` and `--maps`: what the bot would look at, on this checkout, without a token."""
    from rebasekit.errors import RebasekitError
    from rebasekit.model.tag import Tag
    from rebasekit.steps.bot.find import newer
    from rebasekit.steps.rebase import rebase

    space = _where.workspace(args)
    tags: list[Tag] = [Tag.parse(name) for name in args.tag]
    tags = tags or newer(space, pre=args.pre, newest=args.newest, progress=console)
    if args.list:
        import json

        console.machine("-", json.dumps([tag.name for tag in tags]))
        return 0
    for tag in sorted(tags):
        try:
            verdict = rebase(space, tag, progress=console)
        except RebasekitError as error:  # the run that publishes says so where people see it
            console.error(f"{tag}: {error.message}", hint=error.hint)
            continue
        counts = ", ".join(f"{word} {number}" for word, number in sorted(verdict.counts().items()))
        console.line(f"{tag}  {counts}")
    return 0
