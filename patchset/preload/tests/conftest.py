from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tests")]

from hooks import pytest_collection_modifyitems, pytest_configure, pytest_report_header  # noqa: E402

__all__ = ["pytest_collection_modifyitems", "pytest_configure", "pytest_report_header"]
