"""What the package may import, and what must never become importable."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted((ROOT / "kernels" / "int2_kv").glob("*.py"))


def test_kernels_is_not_a_package() -> None:
    assert not (ROOT / "kernels" / "__init__.py").exists()
    found = importlib.util.find_spec("kernels")
    assert found is None or ROOT not in Path(found.origin or "/").parents


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_imports_stay_inside(path: Path) -> None:
    """Relative imports, torch, triton and the standard library: the files are shipped inside SGLang and import nothing
    of it.
    """
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module or ""]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            assert name.split(".")[0] in {
                "__future__", "argparse", "collections", "dataclasses", "functools", "math", "os", "pathlib",
                "torch", "triton",
            }, name  # fmt: skip
