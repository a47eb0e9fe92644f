"""Small patchsets on disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

SERIES = 'base = "v0.5.19"\npatches = ["x"]\n\n[upstream]\nkind = "pypi"\npackage = "sglang"\n'
HEADER = 'title = "a patch"\nwhy = "because"\nremoval = "when upstream has it"\n'
HUNK = '\n[[hunk]]\nid = "one"\nfile = "pkg/a.py"\nscope = "f"\nplace = "before"\nat = "return $X"\nlines = "y = 1"\n'

Make = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """`make(patch=…, series=…, files={…})` writes `patchset/` and returns its folder."""

    def write(patch: str = HEADER + HUNK, series: str = SERIES, files: Mapping[str, str | bytes] | None = None) -> Path:
        contents: dict[str, str | bytes] = {"patchset/series.toml": series, "patchset/x/patch.toml": patch}
        for path, data in {**contents, **(files or {})}.items():
            full = tmp_path / path
            full.parent.mkdir(parents=True, exist_ok=True)
            full.write_bytes(data.encode() if isinstance(data, str) else data)
        return tmp_path / "patchset"

    return write


@pytest.fixture
def header() -> str:
    return HEADER


@pytest.fixture
def hunk() -> str:
    return HUNK


@pytest.fixture
def series() -> str:
    return SERIES
