"""`serve/smoke.toml` is checked before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from rebasekit.errors import PatchsetError
from rebasekit.model.tag import Tag
from rebasekit.patches.load import load
from rebasekit.steps.smoke.plan import read_plan
from rebasekit.steps.smoke.prompts import prompts, referenced, seeded

ROOT = Path(__file__).parents[2]
TAG = Tag.parse("v1.0.0")
LAUNCH = '[[launch]]\nname = "a"\nsteps = ["greedy"]\n'


def plan(tmp_path, text):
    (tmp_path / "serve").mkdir()
    (tmp_path / "serve" / "smoke.toml").write_text(text)
    return read_plan(tmp_path, TAG)


def test_ours_reads_for_every_release():
    pins = load(ROOT / "patchset", check=lambda text: None).series.environment
    for name in ("v0.5.19", "v0.5.23"):
        found = read_plan(ROOT, Tag.parse(name))
        assert {"cpu", "cuda"} == set(found.devices)
        assert any(launch.refuses for launch in found.launches) and any(launch.patched for launch in found.launches)
        assert {key for launch in found.launches for key in launch.without} <= set(pins)
        assert len([launch for launch in found.launches if launch.early]) > 12
        assert [launch.equals for launch in found.launches if launch.equals] == ["plain"]


def test_launches_for_other_releases_are_left_out(tmp_path):
    later = '[[launch]]\nname = "b"\nsteps = ["greedy"]\ntags = ">=v2.0.0"\n'
    assert [launch.name for launch in plan(tmp_path, f'module = "m"\n{LAUNCH}{later}').launches] == ["a"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LAUNCH, "module: is missing"),
        ('module = "m"', "at least one launch"),
        (f'module = "m"\n{LAUNCH}{LAUNCH}', "a name of its own"),
        ('module = "m"\n[[launch]]\nname = "a"\nsteps = ["gredy"]', "`gredy` is none of"),
        ('module = "m"\n[[launch]]\nname = "a"', "either `steps` or `refuses`"),
        (f'module = "m"\n{LAUNCH}refuses = "x"', "either `steps` or `refuses`"),
        ('module = "m"\n[[launch]]\nname = "a"\nrefuses = "("', "not a regular expression"),
        (f'module = "m"\nlimit = 1\n{LAUNCH}', "`limit` is not known"),
        (f'module = "m"\n{LAUNCH}early = true', "`early` without `refuses`"),
        (f'module = "m"\n{LAUNCH}equals = "b"', "equals `b`, which is no launch before"),
        (f'module = "m"\n{LAUNCH}bound = 1', "with `logits` alone"),
        ('module = "m"\n[[launch]]\nname = "a"\nsteps = ["logits"]', "needs `bound`"),
        (f'module = "m"\n{LAUNCH}arguments = "--x"', "must be a list of strings"),
        (f'module = "m"\n{LAUNCH}environment = {{ A = 1 }}', "must be a table of strings"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, text, message):
    with pytest.raises(PatchsetError, match=message):
        plan(tmp_path, text)


def test_no_plan(tmp_path):
    with pytest.raises(PatchsetError, match="is missing"):
        read_plan(tmp_path, TAG)


def test_prompts_are_seeded_disjoint_and_within_the_limit():
    every = prompts(512)
    assert every == prompts(512)
    assert len({prompt[0] for prompt in every}) > 6 and len({tuple(prompt[:4]) for prompt in every}) == len(every)
    assert max(map(len, every)) == 506 and len(every[3]) == 502
    assert every[4] not in referenced(512)  # its answer has no fixed length
    assert seeded(1, 8) != seeded(2, 8)
