"""How builds are shown: tables, JSON and the summary in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rebasekit.console import Console
    from rebasekit.model.tag import Tag
    from rebasekit.steps.build import Built
    from rebasekit.steps.build_content import Content
    from rebasekit.steps.install import Installation


def tags(names: Sequence[str], root: Path) -> list[Tag]:
    """The releases named, or all that have a map; raise UsageError when there is none."""
    from rebasekit.errors import UsageError
    from rebasekit.model.tag import Tag
    from rebasekit.patches.mapped import mapped_tags

    found = [Tag.parse(name) for name in names] if names else mapped_tags(root)
    if not found:
        raise UsageError("no release is named, and `upstream-map/` has none", hint="rebasekit build v0.5.20")
    return found


def end_like_an_interrupt() -> None:
    """Let SIGTERM and SIGHUP end the command as ^C does: what it started ends with it."""
    import signal
    import threading

    if threading.current_thread() is not threading.main_thread():
        return  # signals are the main thread's
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)


def size(count: int) -> str:
    """`1.9 GB`, `575 MB`."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def show_build(console: Console, built: Built, *, trees: bool = False) -> None:
    """One release's build: what was written, installed, imported and tested."""
    wheel = built.wheel
    if trees:
        console.line(line_of(built))
        _show_failed(console, built)
        return
    console.line(f"{wheel.path} ({size(wheel.path.stat().st_size)}, {len(wheel.content.patched)} files of the series)")
    if built.environment is not None:
        console.line(f"environment  {built.environment.folder}")
    if built.installation is not None:
        show_installation(console, built.installation, wheel.content)
    for each in built.imports:
        done = each.error or f"imported in {each.seconds:.1f} s, {size(each.memory)}"
        console.line(f"{'FAIL' if each.error else 'ok':<5} {each.module}: {done}")
    for tested in built.tests:
        console.line(f"{'ok' if tested.ok else 'FAIL':<5} {_counted(tested)} in {tested.seconds:.0f} s")
    _show_failed(console, built)
    if built.seconds:
        console.line("seconds      " + ", ".join(f"{step} {value:.0f}" for step, value in built.seconds.items()))


def _show_failed(console: Console, built: Built) -> None:
    for tested in built.tests:
        for name in tested.failed:
            console.line(f"      failed {name}")
        if not tested.ok:
            console.line(f"      log {tested.log}")


def show_installation(console: Console, found: Installation, content: Content) -> None:
    for wrong in found.findings[:20]:
        console.line(f"FAIL  {wrong.kind} {wrong.file}: {wrong.message}")
    if len(found.findings) > 20:
        console.line(f"      and {len(found.findings) - 20} more findings")
    if not found.findings:
        files, compiled = len(content.files), len(content.compiled)
        text = (
            f"{files} files are those of {content.version}, {len(content.patched)} of them patched, {compiled} compiled"
        )
        console.line(f"ok    {text}")


def _counted(tested: Any) -> str:
    counts = ", ".join(
        f"{tested.counts[word]} {word}" for word in ("passed", "failure", "error", "skipped") if tested.counts[word]
    )
    return f"{tested.patch}: {counts or 'no test ran'}"


def line_of(built: Built) -> str:
    """One release's tests on one line."""
    tests = "; ".join(f"{_counted(t)} in {t.seconds:.0f} s, {size(t.memory)}" for t in built.tests)
    return f"{'ok' if built.ok and built.tests else 'FAIL':<5}{built.wheel.tag}  {tests or 'no tests'}"


def build_data(built: Built) -> dict[str, Any]:
    """The build as JSON; docs/serving.md describes it."""
    import hashlib
    from dataclasses import asdict

    wheel = built.wheel
    return {
        "tag": wheel.tag.name,
        "version": wheel.content.version,
        "ok": built.ok,
        "wheel": {
            "path": str(wheel.path),
            "sha256": hashlib.sha256(wheel.path.read_bytes()).hexdigest(),
            "patched": list(wheel.content.patched),
            "compiled": list(wheel.content.compiled),
        },
        "python": str(built.environment.python) if built.environment else None,
        "installation": asdict(built.installation) if built.installation else None,
        "imports": [asdict(each) for each in built.imports],
        "tests": [
            {
                "patch": each.patch,
                "counts": dict(each.counts),
                "failed": list(each.failed),
                "seconds": round(each.seconds, 1),
                "memory": each.memory,
                "log": str(each.log),
            }
            for each in built.tests
        ],
        "seconds": {step: round(value, 1) for step, value in built.seconds.items()},
    }
