"""Makes `report_verdicts` importable for the tests of this folder."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

_spec = spec_from_file_location("report_verdicts", Path(__file__).parent / "report_verdicts.py")
assert _spec is not None and _spec.loader is not None
sys.modules["report_verdicts"] = module_from_spec(_spec)
_spec.loader.exec_module(sys.modules["report_verdicts"])
