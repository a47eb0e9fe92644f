"""Makes `mutant_project` and `mutants` importable for the tests of this folder."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

for _name, _file in (
    ("mutant_project", "project.py"),
    ("mutant_list", "mutants.py"),
    ("mutant_run", "run.py"),
    ("mutant_real", "real.py"),
):
    _spec = spec_from_file_location(_name, Path(__file__).parent / _file)
    assert _spec is not None and _spec.loader is not None
    sys.modules[_name] = module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules[_name])
