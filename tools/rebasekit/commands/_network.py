"""Whether upstream can be reached: one short question, no download."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

from rebasekit.commands._checkup import Sign
from rebasekit.model.hunk import UpstreamSource

_PATIENCE = 3.0  # seconds
_DEFAULT = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"  # pip itself knows best


def reach(source: UpstreamSource, stored: bool) -> Sign:
    """Ask the index or the git server; without it only stored releases can be had, and none stored is a failure."""
    if source.kind == "git":
        return _git(source.url, stored)
    if os.environ.get("PIP_NO_INDEX"):
        return _gone("index", "switched off by PIP_NO_INDEX", stored)
    index = _index()
    if not index:
        return _gone("index", "pip does not say which index it uses", stored)
    return _ask("index", f"{index.rstrip('/')}/{source.package}/", stored)


def _git(url: str, stored: bool) -> Sign:
    if url.startswith(("http://", "https://")):
        return _ask("upstream", f"{url.rstrip('/')}/info/refs?service=git-upload-pack", stored)
    path = Path(url.removeprefix("file://"))
    if path.exists():
        return Sign("upstream", "ok", str(path))
    if "://" in url or ":" in url:
        return Sign("upstream", "ok", f"{url} (not tried)")
    return _gone("upstream", f"there is no `{url}`", stored)


def _index() -> str:
    """The index that pip uses here: its environment variable, its configuration, or its default; empty without pip."""
    if os.environ.get("PIP_INDEX_URL"):
        return os.environ["PIP_INDEX_URL"]
    values = dict(line.split("=", 1) for line in _python("-m", "pip", "config", "list").splitlines() if "=" in line)
    for key in ("install.index-url", "download.index-url", "global.index-url"):
        if key in values:
            return values[key].strip("'\"")
    return _python("-c", _DEFAULT).strip()


def _python(*args: str) -> str:
    """What this Python prints when it is asked; nothing when it cannot answer."""
    try:
        done = subprocess.run([sys.executable, *args], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def _ask(name: str, url: str, stored: bool) -> Sign:
    shown = _without_password(url)
    request = urllib.request.Request(url, method="GET", headers={"User-Agent": "rebasekit"})  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=_PATIENCE):  # noqa: S310  pip's own index, http or https
            return Sign(name, "ok", f"{shown} answers")
    except urllib.error.HTTPError as error:
        if error.code in (401, 403, 407):  # the server is there; pip and git bring the credentials
            return Sign(name, "ok", f"{shown} answers ({error.code})")
        return _gone(name, f"{shown} answers {error.code}", stored)
    except (OSError, ValueError) as error:
        return _gone(name, f"{shown}: {getattr(error, 'reason', error)}", stored)


def _gone(name: str, message: str, stored: bool) -> Sign:
    if stored:
        return Sign(name, "warn", f"{message}; the stored releases can still be used")
    return Sign(name, "fail", f"{message}, and no release is stored", "pip config set global.index-url URL")


def _without_password(url: str) -> str:
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"
