"""Makes the stand-in importable for the tests of this folder."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

if "standin" not in sys.modules:
    _spec = spec_from_file_location("standin", Path(__file__).parent / "standin.py")
    assert _spec is not None and _spec.loader is not None
    sys.modules["standin"] = module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules["standin"])
