"""The other half of the proof: every behaviour test fails on the tree that upstream ships, by its own assertion.

One subprocess, since a process imports one sglang. It runs the tests marked `differs` and `unchanged` there. Every patch's
test_pristine.py takes these tests over; they are about the folder that it lies in.
"""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator

import pytest
import tree

tree.require()
if tree.PRISTINE is None:
    pytest.skip("REBASEKIT_PRISTINE_TREE is not set", allow_module_level=True)

# What a test may fail with: a wrong result, or no refusal. An import or set-up error proves nothing.
OWN_FAILURES = ("AssertionError", "assert ", "Failed: DID NOT RAISE")


def key(case: ElementTree.Element) -> str:
    return f"{case.get('classname', '').rpartition('.')[2]}::{case.get('name')}"


@pytest.fixture(scope="module")
def pristine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, ElementTree.Element]:
    here = request.path.parent
    report = tmp_path_factory.mktemp("pristine") / "report.xml"
    environment = os.environ | {"REBASEKIT_PATCHED_TREE": str(tree.PRISTINE)}
    environment.pop("REBASEKIT_PRISTINE_TREE")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "differs or unchanged"]
    done = subprocess.run(
        [*command, f"--junitxml={report}", str(here)], env=environment, cwd=here, capture_output=True, text=True
    )
    assert done.returncode in (0, 1), done.stdout[-2000:] + done.stderr[-2000:]
    return {key(case): case for case in ElementTree.parse(report).getroot().iter("testcase")}


def marked(request: pytest.FixtureRequest, marker: str) -> Iterator[str]:
    for item in request.session.items:
        if item.get_closest_marker(marker):
            yield f"{item.path.stem}::{item.name}"


def test_each_behaviour_fails_without_the_patch(
    request: pytest.FixtureRequest, pristine: dict[str, ElementTree.Element]
) -> None:
    if len({item.path for item in request.session.items}) == 1:
        pytest.skip("needs the whole folder collected")
    wrong = []
    for name in marked(request, "differs"):
        case = pristine[name]
        if case.find("skipped") is not None:
            continue  # no Rust core in these trees: the patched run says so too
        failure = case.find("failure")
        if failure is None or not failure.get("message", "").startswith(OWN_FAILURES):
            wrong.append((name, "passed or broke" if failure is None else failure.get("message")))
    assert wrong == []


def test_off_leaves_the_same_trace(request: pytest.FixtureRequest, pristine: dict[str, ElementTree.Element]) -> None:
    here = {
        f"{item.path.stem}::{item.name}": dict(item.user_properties).get("trace")
        for item in request.session.items
        if item.get_closest_marker("unchanged")
    }
    if not here:
        pytest.skip("needs the whole folder collected")
    there = {name: case.find("properties/property[@name='trace']") for name, case in pristine.items() if name in here}
    assert here == {name: None if found is None else found.get("value") for name, found in there.items()}
