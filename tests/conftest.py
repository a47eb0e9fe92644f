"""What all tests share. Tests import helpers with `from harness import Case`."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType


def _load(name: str, path: Path) -> ModuleType:
    """Import a helper by explicit spec: with `tests/` on sys.path, `tests/kernels` would be importable as `kernels`."""
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


_HERE = Path(__file__).parent
_load("harness", _HERE / "harness.py")
_load("releases", _HERE / "fixtures" / "releases.py")

from releases import need_release, release_store  # noqa: E402, F401  # fixtures
