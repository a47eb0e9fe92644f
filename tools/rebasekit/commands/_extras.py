"""Packages that only some commands need, by the extra that brings them."""

from __future__ import annotations

import sys

EXTRAS = {
    "serve": (("installer",), "building and installing patched wheels"),
    "bot": (("github",), "pull requests"),
    "probes": (("httpx",), "measuring a running server"),
    "gpu": (("pynvml",), "reading cards while a server is measured"),
    "plots": (("matplotlib",), "plots of benchmarks and measurements"),
    "dev": (("pytest", "mypy", "ruff", "nox", "hypothesis"), "developing rebasekit"),
}


def installing(package: str) -> str:
    """The command that brings a package: an extra's, or rebasekit's own."""
    extra = next((name for name, (packages, _) in EXTRAS.items() if package in packages), "")
    return f"{sys.executable} -m pip install " + (f"'rebasekit[{extra}]'" if extra else "rebasekit")
