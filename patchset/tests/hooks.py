"""What every patch's conftest.py takes over: markers, the trees in the header, and the comparison last."""

from __future__ import annotations

import pytest
import tree


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "differs: must fail on the pristine tree, by its own assertion")
    config.addinivalue_line("markers", "unchanged: records a trace that must be the same on the pristine tree")


def pytest_report_header() -> list[str]:
    return [f"patched tree: {tree.PATCHED or 'not set, skipping'}", f"pristine tree: {tree.PRISTINE or 'not set'}"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name == "test_pristine.py")  # compares with what the others recorded
