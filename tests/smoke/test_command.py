"""`rebasekit smoke` from the wheel to the effect table, on the small server."""

from __future__ import annotations

import base64
import hashlib
import json
import zipfile

import pytest
from harness import Case, patch_toml

from rebasekit.commands import _smoke
from rebasekit.steps.smoke import smoke as step
from rebasekit.steps.smoke.result import Constructed, Effect, Smoke, StepResult
from rebasekit.upstream.store import Store

from .conftest import CONTEXT, POOL, RANK, SERVER, expect

TORCH = "from types import SimpleNamespace\nops = SimpleNamespace(sgl_kernel=SimpleNamespace())\n"
FILES = {
    "served/__init__.py": "",
    "served/pool.py": POOL,
    "served/rank.py": "import sgl_kernel\n" + RANK,
    "served/server.py": SERVER,
    "torch/__init__.py": TORCH,
}
HUNK = """
id = "price"
file = "served/pool.py"
scope = "price"
place = "before"
at = "return cost"
lines = "cost += 1"
needs = ["constructed served.pool.Pool"]
"""
LONG = """
id = "long"
file = "served/pool.py"
scope = "long_prefill"
place = "before"
at = "return seen"
lines = "seen += 1"
"""
PLAN = f"""
module = "served.server"
context = {CONTEXT}
[limits]
ready = 30
request = 5
[device.cpu]
[[launch]]
name = "plain"
steps = ["pins", "greedy", "STEP"]
log = ["Tree Core: python"]
[[launch]]
name = "rust"
patched = true
without = ["SERVED_CORE"]
environment = {{ SERVED_CORE = "rust" }}
refuses = "needs the python core"
"""


def wheel_of(folder, files):
    path = folder / "served-1.0.0-py3-none-any.whl"
    members = {**files, "served-1.0.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: served\nVersion: 1.0.0\n\n"}
    members["served-1.0.0.dist-info/WHEEL"] = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    rows = []
    for name, text in members.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
        rows.append(f"{name},sha256={digest},{len(text)}")
    members["served-1.0.0.dist-info/RECORD"] = "\n".join([*rows, "served-1.0.0.dist-info/RECORD,,"])
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return path


@pytest.fixture
def project(tmp_path, monkeypatch):
    series = 'base = "v1.0.0"\npatches = ["p"]\n[upstream]\nkind = "git"\nurl = "@UPSTREAM@"\n'
    series += '[environment]\nSERVED_CORE = "python"\n'
    patchset = {"p/patch.toml": patch_toml(HUNK, LONG), "series.toml": series}
    case = Case(tmp_path, upstream={"v1.0.0": FILES}, patchset=patchset)
    wheel = wheel_of(tmp_path, FILES)
    monkeypatch.setattr(Store, "wheel", lambda self, tag, progress=None: wheel)
    monkeypatch.setattr(step, "make_model", lambda environment, folder, progress: folder / "model")
    monkeypatch.setattr(
        step, "reference", lambda environment, model, prompts, *more: {tuple(p): expect(p) for p in prompts}
    )
    return case


def test_everything_that_runs_is_seen(project):
    project.write({"serve/smoke.toml": PLAN.replace("STEP", "long-prefill")})
    result = project.run("smoke", "v1.0.0", "--json=-")
    data = json.loads(result.stdout)
    assert result.exit == 0 and data["ok"], result.stderr
    assert {(s["launch"], s["step"]) for s in data["steps"]} >= {
        ("", "install"),
        ("plain", "kernels"),
        ("rust", "refusal"),
    }
    assert {effect["hunk"]: effect["ranks"]["TP1"] for effect in data["effects"]} == {
        "p/price": "ran 1/1",
        "p/long": "ran 1/1",
    }
    assert data["constructed"][0]["built"] == {"TP0": ["served.pool.Pool"], "TP1": ["served.pool.Pool"]}
    assert "ok   plain: stop" in result.stderr and "what ran of each hunk" in result.stderr


def test_a_hunk_that_is_never_reached_fails_it(project):
    project.write({"serve/smoke.toml": PLAN.replace("STEP", "prefix")})
    result = project.run("smoke", "v1.0.0")
    assert result.exit == 1 and "FAIL: p/long" in result.stdout
    project.write({"patchset/p/patch.toml": patch_toml(HUNK, LONG + 'idle = "needs a long prompt"\n')})
    result = project.run("smoke", "v1.0.0")
    assert result.exit == 0 and "idle: needs a long prompt" in result.stdout


def test_pristine_has_no_effects_and_leaves_patched_launches_out(project):
    project.write({"serve/smoke.toml": PLAN.replace("STEP", "prefix")})
    result = project.run("smoke", "v1.0.0", "--pristine", "--json=-")
    data = json.loads(result.stdout)
    assert result.exit == 0 and data["effects"] == [] and data["version"] == "1.0.0"
    assert {step["launch"] for step in data["steps"]} == {"", "plain"}


def test_a_pristine_wheel_in_the_patched_environment_is_replaced(project):
    """Planted: upstream's files under our name. The smoke starts nothing from it."""
    project.write({"serve/smoke.toml": PLAN.replace("STEP", "long-prefill")})
    assert project.run("smoke", "v1.0.0", "--only", "rust").exit == 0
    (pool,) = project.cache.glob("serve/v1.0.0/patched/lib/*/site-packages/served/pool.py")
    patched = pool.read_text()
    pool.write_text(POOL)
    result = project.run("smoke", "v1.0.0", "--only", "rust")
    assert result.exit == 0 and "installed afresh" in result.stdout and pool.read_text() == patched


def test_cuda_without_a_gpu_is_a_usage_error(project):
    project.write({"serve/smoke.toml": PLAN.replace("STEP", "prefix")})
    result = project.run("smoke", "v1.0.0", "--device", "cuda")
    assert result.exit == 2 and "there is no GPU" in result.stderr
    assert project.run("smoke", "v1.0.0", "--tp", "0").exit == 2


def test_json_and_closing_line():
    effects = (Effect("p/h", "never", 2, 0, {"TP0": "never"}, problem="never ran"),)
    found = Smoke(
        "v1", "1", "cpu", 2, "stand-in", "tiny", True, (StepResult("a", "stop", "FAIL", "x"),), effects,
        (Constructed("m.A", ("p/h",)),), folder="/logs",
    )  # fmt: skip
    assert _smoke.data(found)["ok"] is False
    assert _smoke.closing(found).startswith("FAIL: a: stop, p/h, m.A (1, 2 ranks on cpu")
    assert [table.row_count for table in _smoke.tables(found)] == [1, 1]
