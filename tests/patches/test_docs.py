"""The examples of the reference are read by the code that they describe."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from rebasekit.model.hunk import Place
from rebasekit.patches import MOVES_PATH, load_moves, load_resolution, load_series, resolution_path
from rebasekit.patches.compose import HEADER, HUNK

TEXT = (Path(__file__).parents[2] / "docs/patch-format.md").read_text()
BLOCKS = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)


def block(start: str) -> str:
    return next(each for each in BLOCKS if each.startswith(start))


def test_the_examples_read(make, header: str, tmp_path: Path) -> None:
    hunks = [each for each in BLOCKS if each.startswith("[[hunk]]")]
    variant = block("[[hunk.variant]]")
    bodies = re.findall(r'^body +\= "(.*)"', "".join(hunks) + variant, re.MULTILINE)
    files = {f"patchset/checkpoint-pool/{body}": "x = 1\n" for body in bodies}
    text = header + hunks[0] + variant + "".join(hunks[1:])
    patchset = make(series=block("base"), files={**files, "patchset/checkpoint-pool/patch.toml": text})
    patch = load_series(patchset).patches[0]
    assert len(patch.hunks[0].forms) == 2
    shown = {hunk.forms[0].place for hunk in patch.hunks}
    assert set(Place) - shown == {Place.REPLACE}  # shares its example with `before` and `after`
    for path, start in ((MOVES_PATH, "[[move]]"), (resolution_path("0123456789"), "hunk = ")):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(block(start))
    assert len(load_moves(tmp_path)) == 1 and load_resolution(tmp_path, "0123456789")


def test_every_key_and_place_is_described() -> None:
    described = set(re.findall(r"`([a-z_-]+)`", TEXT))
    assert set(HEADER) | set(HUNK) | {place.value for place in Place} <= described
    assert all(tomllib.loads(each) for each in BLOCKS)
