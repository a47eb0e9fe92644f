"""A small project for the tests of the commands."""

from __future__ import annotations

import pytest
from harness import Case, patch_toml, series

A = """
def one():
    x = 1
    return x


def two():
    y = 2
    return y
"""

ONE = """
id = "one"
file = "pkg/a.py"
scope = "one"
place = "after"
at = "x = 1"
lines = "x += 1"
why = "one more"
decision = "after the assignment"
"""
TWO = """
id = "two"
file = "pkg/a.py"
scope = "two"
place = "before"
at = "return y"
lines = "y += 1"
"""


@pytest.fixture
def project(tmp_path):
    return Case(
        tmp_path,
        upstream={
            "v1.0.0": {"pkg/a.py": A, "pkg/__init__.py": ""},
            "v1.1.0": {"pkg/a.py": "# moved down\n" + A[1:], "pkg/__init__.py": ""},
        },
        patchset={
            "series.toml": series("v1.0.0", patches=["first", "second"]),
            "first/patch.toml": patch_toml(ONE, TWO, title="the first"),
            "second/patch.toml": patch_toml(
                ONE.replace('"one"\nplace', '"two"\nplace').replace("x", "y").replace("y = 1", "y = 2"),
                title="the second",
            ),
        },
    )
