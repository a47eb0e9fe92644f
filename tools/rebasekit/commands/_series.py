"""`docs/series-tests.md`: what ran on which release, when, and with what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rebasekit.commands._serving import size

if TYPE_CHECKING:
    from rebasekit.steps.build import Built
    from rebasekit.steps.workspace import Workspace


_TREES = (
    "`nox -s series`",
    "Every release was unpacked twice from its wheel",
    "once with the series and once as upstream ships it",
)
_WHEELS = (
    "`nox -s build`",
    "Every release was installed from its patched wheel",
    "and upstream's was unpacked beside it",
)


def summary(space: Workspace, found: Sequence[Built], *, trees: bool) -> str:
    """The file's text; `trees` says whether the tests ran on unpacked trees or on installations."""
    import datetime
    import platform

    from rebasekit import __version__
    from rebasekit.patches.digest import series_digest

    day = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    command, here, there = _TREES if trees else _WHEELS
    lines = [
        "# The patches' tests on real classes",
        "",
        f"Written by {command} on {day}: rebasekit {__version__}, Python {platform.python_version()},",
        f"series `{series_digest(space.series)[:12]}`. {here}, compiled files",
        f"included, {there}. Tests marked `differs` fail on the second.",
        "",
        "| release | patch | passed | failed | skipped | seconds | memory |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for built in found:
        for each in built.tests:
            count = each.counts
            lines.append(
                f"| {built.wheel.tag} | {each.patch} | {count['passed']} | {len(each.failed)} | {count['skipped']} "
                f"| {each.seconds:.0f} | {size(each.memory)} |"
            )
    lines += ["", "| release | packages |", "|---|---|"]
    for built in found:
        lines.append(f"| {built.wheel.tag} | {', '.join(_packages(built))} |")
    return "\n".join(lines) + "\n"


def _packages(built: Built) -> list[str]:
    """The versions that decide how the release behaves, as they are installed."""
    if built.environment is None:
        return []
    shown = ("torch", "triton", "transformers", "tokenizers", "xgrammar")
    sites = (built.environment.site, *built.environment.below)
    found = dict(path.stem.split("-", 1) for site in sites for path in site.glob("*-*.dist-info"))
    return [f"{name} {found[name]}" for name in shown if name in found]
