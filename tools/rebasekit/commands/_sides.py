"""The two sides of a comparison: a running server, one that is started for it, or answers that were kept."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rebasekit.errors import StateError, UsageError

if TYPE_CHECKING:
    from rebasekit.model.progress import Progress
    from rebasekit.probes.measure.compare import Side
    from rebasekit.probes.measure.server import Endpoint


def kept(text: str) -> dict[str, Any] | None:
    """The answers in a file that an earlier `compare` wrote; None when `text` is a URL. Raises UsageError."""
    if "://" in text or (re.fullmatch(r"[\w.-]+:[0-9]+", text) and not Path(text).exists()):
        return None
    hint = "tools/compare URL --json=before.json"
    try:
        found = json.loads(Path(text).read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(
            f"`{text}` is no URL, and cannot be read: {(error.strerror or '').lower()}", hint=hint
        ) from None
    except ValueError:
        found = None
    if not isinstance(found, dict) or found.get("probe") != "compare" or not found.get("complete"):
        raise UsageError(f"`{text}` is no complete file of `compare`", hint=hint)
    return found


def side_of(found: dict[str, Any], name: str) -> Side:
    """The first side of a kept comparison. Raises UsageError for a file that lacks something."""
    from rebasekit.probes.measure.compare import Said, Side
    from rebasekit.probes.measure.server import Server

    try:
        mine = found["a"]
        said = [Said(**{**each, "tokens": tuple(each["tokens"])}) for each in mine["said"]]
        return Side(f"{name} ({mine['name']})", mine["api"], Server(**mine["server"]), said)
    except (KeyError, TypeError) as error:
        hint = "tools/compare URL --json=before.json"
        raise UsageError(f"`{name}` is no file of this `compare`: {error}", hint=hint) from None


@asynccontextmanager
async def running(command: str | None, target: Endpoint, limit: float, progress: Progress) -> AsyncIterator[None]:
    """Start a server with a command, wait until it answers, and end all of it afterwards; nothing without a command."""
    if command is None:
        yield
        return
    from rebasekit.probes.process import Group

    argv = shlex.split(command)
    if not argv:
        raise UsageError("there is no command to start", hint="tools/compare --help")
    if await asyncio.to_thread(answers, target):
        message = f"something answers at `{target.shown}` already, so nothing is started there"
        raise UsageError(message, hint=f"curl {target.shown}/server_info")
    with tempfile.TemporaryDirectory(prefix="rebasekit-") as folder:
        log = Path(folder) / "server.log"
        try:
            group = Group(argv, os.environ, Path.cwd(), log)
        except OSError as error:
            raise UsageError(f"cannot start `{argv[0]}`: {(error.strerror or '').lower()}") from None
        with group:
            with progress.task(f"starting `{target.shown}`", limit, "s") as task:
                last = 0.0
                while not await asyncio.to_thread(answers, target):
                    code = group.poll()
                    if code is not None or group.seconds > limit:
                        what = f"ended with {code}" if code is not None else f"did not answer within {limit:.0f} s"
                        end = " | ".join(line.strip() for line in _tail(log))
                        raise StateError(f"the server at `{target.shown}` {what}: {end or 'its log is empty'}")
                    task.advance(group.seconds - last)
                    last = group.seconds
                    await asyncio.sleep(0.5)  # where ^C gets through
            yield


def _tail(log: Path) -> list[str]:
    from rebasekit.probes.process import tail

    return tail(log, 3).splitlines()


def answers(target: Endpoint) -> bool:
    """Whether a server answers there that it is ready."""
    import httpx

    try:
        return httpx.get(f"{target.base}/health", timeout=5, trust_env=not target.local).status_code == 200
    except (OSError, httpx.HTTPError):
        return False
