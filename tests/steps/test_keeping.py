"""Answers in the cache: the newest stay, and a cache that cannot be written is no trouble."""

from __future__ import annotations

import json
import os
from pathlib import Path

from rebasekit.steps.keeping import keep


def test_the_oldest_answers_go_and_what_a_killed_process_left(tmp_path: Path) -> None:
    left = tmp_path / "old.4711"
    left.write_text("half an ans")
    os.utime(left, (1, 1))
    for number in range(70):
        keep(tmp_path / f"{number}.json", {"number": number})
        os.utime(tmp_path / f"{number}.json", (1000 + number, 1000 + number))
    keep(tmp_path / "70.json", {"number": 70})
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {f"{number}.json" for number in range(7, 71)}
    assert json.loads((tmp_path / "70.json").read_text()) == {"number": 70}


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    keep(tmp_path / "file" / "1.json", {})
    assert (tmp_path / "file").read_text() == "no folder"
