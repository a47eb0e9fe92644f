"""The scale part measures what it says."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.bench import scale


def test_exponent() -> None:
    assert scale.exponent([1, 2, 4], [3, 6, 12]) == pytest.approx(1)
    assert scale.exponent([10, 100], [5, 500]) == pytest.approx(2)


def test_upstream_and_diff(tmp_path: Path) -> None:
    scale.make_upstream(tmp_path / "up", 6)
    scale.make_diff(tmp_path / "up", tmp_path / "ours.diff", 6)
    told = (tmp_path / "ours.diff").read_text()
    assert told.count("diff --git") == 6
    assert scale.git(tmp_path / "up", "tag").split() == [b"v1.0.0", b"v1.1.0"]
    assert len(scale.git(tmp_path / "up", "diff", "--name-only", "v1.0.0", "v1.1.0").split()) == 10  # of 15


def test_a_command_is_measured() -> None:
    measured = scale.timed(1, "version", ["--version"])
    assert measured.code == 0 and measured.cpu > 0 and measured.megabytes > 5


def test_a_command_that_fails_is_no_measurement() -> None:
    with pytest.raises(SystemExit, match="ended with 2"):
        scale.timed(1, "nothing", ["no-such-command"])
