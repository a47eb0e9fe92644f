"""Planted faults in a real release. Minutes each, so only where `REBASEKIT_REAL_SMOKE` names one that was smoked:

REBASEKIT_REAL_SMOKE=v0.5.20 REBASEKIT_CACHE=… nox -s tests -- tests/smoke/test_real.py
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from rebasekit.model.progress import SILENT
from rebasekit.model.tag import Tag
from rebasekit.steps import build_env
from rebasekit.steps.build_proof import base_of, make_wheel, prove, work_folder
from rebasekit.steps.build_record import record_of
from rebasekit.steps.install import verify
from rebasekit.steps.smoke import smoke
from rebasekit.steps.smoke.ground import Ground
from rebasekit.steps.smoke.plan import read_plan
from rebasekit.steps.smoke.prepare import Options, make_model
from rebasekit.steps.workspace import Workspace

REAL = os.environ.get("REBASEKIT_REAL_SMOKE", "")
ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not REAL, reason="REBASEKIT_REAL_SMOKE is not set")]
THINNING = "sglang/srt/mem_cache/mamba_checkpoint_thinning.py"
ATTENTION = "sglang/srt/layers/attention/int2_kv_attention.py"


@pytest.fixture(scope="module")
def proof():
    space = Workspace(root=ROOT, cache=Path(os.environ["REBASEKIT_CACHE"]))
    return space, prove(space, Tag.parse(REAL))


def test_a_pristine_wheel_under_the_patched_name(proof, tmp_path):
    space, found = proof
    below = base_of(space, found)
    name = make_wheel(space, found, tmp_path).path.name
    (tmp_path / "renamed").mkdir()
    from rebasekit.steps.build_wheel import write_wheel

    digest = "0" * 12  # upstream's bytes in a wheel of ours
    made = write_wheel(found.upstream, {}, set(), found.tag, digest, tmp_path / "renamed", SILENT)
    environment = build_env.fresh(tmp_path / "env", below, made, SILENT)
    kinds = {wrong.kind for wrong in verify(environment.python, found.content).findings}
    assert {"not-patched", "missing", "wrong-version"} <= kinds and made.name != name


@pytest.mark.parametrize(
    ("file", "text", "broken", "step"),
    [
        (THINNING, "if victim is not cold:", "if victim is not col:", "pressure"),
        (ATTENTION, "tokens = sum(chunk_lens)\n", "tokens = sum(chunk_lens) if prefix_lens[0] < 400 else nowhere\n",
         "long-prefill"),
    ],
    ids=["pressure", "long-prefill"],
)  # fmt: skip
def test_a_name_error_in_what_only_a_long_request_runs(proof, tmp_path, file, text, broken, step):
    """Every request before is answered; then checkpoints run out, or a chunk meets its prefix, and the rank dies."""
    space, found = proof
    below = base_of(space, found)
    environment = build_env.fresh(tmp_path / "env", below, make_wheel(space, found, tmp_path).path, SILENT)
    source = environment.site / file
    assert text in source.read_text()
    source.write_text(source.read_text().replace(text, broken))
    folder = work_folder(space, found.tag)
    ground = Ground(environment.python, environment.site)
    model = make_model(ground, folder, SILENT)
    plan = read_plan(ROOT, found.tag)
    launch = next(launch for launch in plan.launches if launch.name == "all")
    (tmp_path / "smoke").mkdir()
    record = record_of(space.series, found.tag, found.content, found.result)
    rig = smoke.rig_of(record, ground, plan, model, Options(effects=False), tmp_path / "smoke", SILENT)
    lines = []
    rig.launch(replace(launch, steps=("greedy", step), equals=""), lines.append)
    outcome = {line.step: (line.outcome, line.text) for line in lines}
    assert outcome["greedy"][0] == "ok"
    assert outcome[step][0] == "FAIL" and "NameError" in outcome[step][1] + outcome["log"][1]
