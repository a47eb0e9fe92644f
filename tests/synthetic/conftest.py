"""Makes this folder importable as `synthetic`: with `tests/` on sys.path, `tests/kernels` would be `kernels`."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

if "synthetic" not in sys.modules:
    _here = Path(__file__).parent
    _spec = spec_from_file_location("synthetic", _here / "__init__.py", submodule_search_locations=[str(_here)])
    assert _spec is not None and _spec.loader is not None
    sys.modules["synthetic"] = module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules["synthetic"])
