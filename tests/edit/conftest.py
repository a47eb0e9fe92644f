"""Makes `edit_grammar` importable for the tests of this folder."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

_spec = spec_from_file_location("edit_grammar", Path(__file__).parent / "edit_grammar.py")
assert _spec is not None and _spec.loader is not None
sys.modules["edit_grammar"] = module_from_spec(_spec)
_spec.loader.exec_module(sys.modules["edit_grammar"])
