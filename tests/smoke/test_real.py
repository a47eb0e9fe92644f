"""Planted faults in a real release. Minutes each, so only where `REBASEKIT_REAL_SMOKE` names one that was smoked:

REBASEKIT_REAL_SMOKE=v0.5.20 REBASEKIT_CACHE=… nox -s tests -- tests/smoke/test_real.py
"""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from rebasekit.model.progress import SILENT
from rebasekit.model.tag import Tag
from rebasekit.probes import proc
from rebasekit.steps import build_env
from rebasekit.steps.build_proof import base_of, make_wheel, prove, work_folder
from rebasekit.steps.build_record import record_of
from rebasekit.steps.install import verify
from rebasekit.steps.smoke import effects, smoke
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


def installed(proof, tmp_path):
    """A fresh environment with the patched wheel."""
    space, found = proof
    wheel = make_wheel(space, found, tmp_path).path
    return build_env.fresh(tmp_path / "env", base_of(space, found), wheel, SILENT)


def rig_and(proof, environment, tmp_path, name, *, effects):
    """All that a smoke of this installation needs, and the launch of that name."""
    space, found = proof
    ground, plan = Ground(environment.python, environment.site), read_plan(ROOT, found.tag)
    model = make_model(ground, work_folder(space, found.tag), SILENT)
    (tmp_path / "smoke").mkdir()
    record = record_of(space.series, found.tag, found.content, found.result)
    rig = smoke.rig_of(record, ground, plan, model, Options(effects=effects), tmp_path / "smoke", SILENT)
    return rig, next(launch for launch in plan.launches if launch.name == name)


def outcomes(lines):
    return {line.step: (line.outcome, line.text) for line in lines}


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
    environment = installed(proof, tmp_path)
    source = environment.site / file
    assert text in source.read_text()
    source.write_text(source.read_text().replace(text, broken))
    rig, launch = rig_and(proof, environment, tmp_path, "all", effects=False)
    lines = []
    rig.launch(replace(launch, steps=("greedy", step), equals=""), lines.append)
    outcome = outcomes(lines)
    assert outcome["greedy"][0] == "ok"
    assert outcome[step][0] == "FAIL" and "NameError" in outcome[step][1] + outcome["log"][1]


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL], ids=["hangs", "dies"])
def test_a_rank_that_is_stopped_after_the_first_answers(proof, tmp_path, number):
    """That it has the core that the series does not pin is said in the same run, and which hunks it never needs."""
    space, found = proof
    environment = installed(proof, tmp_path)
    rig, plain = rig_and(proof, environment, tmp_path, "plain", effects=True)
    rig.limits = replace(rig.limits, request=30, stop=10)
    core = {"SGLANG_UNIFIED_RADIX_TREE_CORE_BACKEND": "rust"}
    lines = []

    def say(line):
        lines.append(line)
        if line.step == "greedy":
            (rank,) = (pid for pid in proc.processes() if mine(pid) and proc.title_of(pid).endswith("scheduler_TP1"))
            os.kill(rank, number)

    def mine(pid):
        return proc.environment_of(pid).get("REBASEKIT_SITE", "").startswith(str(tmp_path))

    rig.launch(replace(plain, environment=core, steps=("pins", "greedy", "prefix", "limit"), log=()), say)
    outcome = outcomes(lines)
    assert outcome["ready"][0] == outcome["greedy"][0] == "ok", outcome
    assert outcome["pins"][0] == "FAIL" and "=rust, the series pins `python`" in outcome["pins"][1]
    assert outcome["prefix"][0] == "FAIL"
    assert any(words in outcome["prefix"][1] for words in ("the server hangs", "the server ended with"))
    assert outcome["limit"] == ("skip", "there is no server to ask") and outcome["stop"][0] == "FAIL"
    assert not [pid for pid in proc.processes() if mine(pid)]
    record = record_of(space.series, found.tag, found.content, found.result)
    watched = effects.watched(record.hunks, environment.site)
    rows = {row.hunk: row for row in effects.table(watched, {each.hunk: "" for each in record.hunks}, rig.notes, "cpu")}
    assert rows["kernels/decode"].problem.startswith("never ran")
    assert rows["int2-pool/plan"].state == "ran"
