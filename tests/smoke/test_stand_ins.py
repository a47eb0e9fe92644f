"""The stand-ins refuse by name, never shadow a real package, and say that they were loaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from rebasekit.probes.scripts import FOLDER


def python(code, tmp_path, stand_ins=True, extra=""):
    """Run code in a Python that starts as every rank of a smoke does; returns its output and the notes."""
    (tmp_path / "notes").mkdir(exist_ok=True)
    (tmp_path / "site.json").write_text(json.dumps({"notes": str(tmp_path / "notes"), "stand_ins": stand_ins}))
    paths = [str(FOLDER / "site"), *([extra] if extra else [])]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "REBASEKIT_SITE": str(tmp_path / "site.json")}
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=False)
    notes = "".join(path.read_text() for path in (tmp_path / "notes").iterdir())
    return (done.stdout + done.stderr).strip(), notes


def test_torchvision_imports_and_cannot_be_used(tmp_path):
    said, _ = python("from torchvision.transforms.v2 import Resize, functional as F; print(F.x.y); Resize(3)", tmp_path)
    assert "`torchvision` is a stand-in on this machine, and `Resize` was called" in said


def test_kernels_refuse_by_name(tmp_path):
    torch = "import sys, types; t = types.ModuleType('torch'); t.ops = types.SimpleNamespace(sgl_kernel=types.SimpleNamespace()); sys.modules['torch'] = t; "  # noqa: E501
    said, notes = python(torch + "from sgl_kernel import fast_topk; fast_topk(1)", tmp_path)
    assert "NotImplementedError: `sgl_kernel.fast_topk` is not in the CPU stand-in" in said
    assert notes == "stand-in\tsgl_kernel\n"
    said, _ = python(torch + "from sgl_kernel.mamba import causal_conv1d_fn_cpu as f; f(1, 2, sinks=3)", tmp_path)
    assert "`causal_conv1d_fn_cpu` is called with `sinks`" in said
    said, _ = python(torch + "import sgl_kernel.scalar_type", tmp_path)
    assert "ModuleNotFoundError" in said and "sgl_kernel.scalar_type" in said


@pytest.mark.parametrize("name", ["sgl_kernel", "torchvision"])
def test_a_real_package_is_never_shadowed(tmp_path, name):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / f"{name}.py").write_text("real = True\n")
    said, notes = python(f"import {name}; print({name}.real)", tmp_path, extra=str(tmp_path / "real"))
    assert (said, notes) == ("True", "")


def test_without_stand_ins_nothing_takes_the_names(tmp_path):
    assert "ModuleNotFoundError" in python("import sgl_kernel", tmp_path, stand_ins=False)[0]


def test_the_start_hook_does_nothing_outside_a_smoke():
    environ = {key: value for key, value in os.environ.items() if key != "REBASEKIT_SITE"}
    code = "import sys; print([m for m in sys.modules if m.startswith('rebasekit')], sys.gettrace())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**environ, "PYTHONPATH": str(FOLDER / "site")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip().endswith("None") and "rebasekit_" not in done.stdout


def test_arithmetic_of_the_kernels():
    """The chunked prefill equals token by token, and a convolution goes on where it stopped."""
    torch = pytest.importorskip("torch")
    sys.path.insert(0, str(FOLDER / "stand-ins"))
    import rebasekit_kernels as kernels

    torch.manual_seed(1)
    q, k, v = (torch.randn(1, 7, heads, 8) for heads in (2, 2, 4))
    a, b, bias, log = torch.randn(7, 4), torch.randn(7, 4), torch.randn(4), torch.rand(4)
    g, beta = kernels.fused_gdn_gating_cpu(log, a, b, bias)
    states = torch.zeros(3, 4, 8, 8)
    whole, _, _ = kernels.chunk_gated_delta_rule_cpu(
        q, k, v, g, beta, initial_state=states, initial_state_indices=torch.tensor([1]),
        cu_seqlens=torch.tensor([0, 7]), use_qk_l2norm_in_kernel=True,
    )  # fmt: skip
    single = torch.zeros(3, 4, 8, 8)
    for t in range(7):
        part = slice(t, t + 1)
        out = kernels.fused_sigmoid_gating_delta_rule_update_cpu(
            log, bias, q[:, part], k[:, part], v[:, part], a[part], b[part], single, torch.tensor([2]),
            torch.tensor([0, 1]), use_qk_l2norm_in_kernel=True,
        )  # fmt: skip
        assert torch.allclose(out[0, 0], whole[0, t], atol=1e-5)
    assert torch.allclose(states[1], single[2], atol=1e-5) and not states[0].any()
