"""Scripts that run in the serving environment: package data, never imported here.

Their folder has a hyphen so that nothing takes it for a package of ours: they import torch and the release.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent / "in-env"


def script(name: str) -> Path:
    """The path of a script."""
    return FOLDER / name
