from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tests")]
# SGLang's index kernels, and its 16-bit attention that int2 is compared with, run on the CPU in Triton's interpreter only.
os.environ["TRITON_INTERPRET"] = "1"

from hooks import pytest_collection_modifyitems, pytest_configure, pytest_report_header  # noqa: E402

__all__ = ["pytest_collection_modifyitems", "pytest_configure", "pytest_report_header"]
