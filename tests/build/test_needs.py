"""Requirements: the wheel's own, with the exceptions of `serve/cpu.toml`, each with a reason."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.metadata import Metadata

from rebasekit.errors import PatchsetError
from rebasekit.model.tag import Tag
from rebasekit.steps.build_needs import Exceptions, needs, read_exceptions

TAG = Tag.parse("v1.2.0")
METADATA = Metadata.from_email(
    b"Metadata-Version: 2.1\nName: pkg\nVersion: 1.2.0\nRequires-Dist: torch==2.14.1\nRequires-Dist: Numpy\n"
    b'Requires-Dist: cuda-python>=13\nRequires-Dist: tomli; python_version < "3.11"\n'
    b'Requires-Dist: pytest; extra == "test"\nRequires-Dist: einops; sys_platform == "linux"\n\n'
)


def exceptions(tmp_path, text):
    (tmp_path / "serve").mkdir()
    (tmp_path / "serve" / "cpu.toml").write_text(text)
    return read_exceptions(tmp_path)


def test_without_exceptions_the_release_decides():
    found = needs(METADATA, Exceptions(), TAG)
    assert found.first == ()
    assert found.rest == ("cuda-python>=13", "einops", "Numpy", "torch==2.14.1")


def test_exceptions_leave_out_pin_and_add(tmp_path):
    text = """
first = ["torch"]
[[leave-out]]
packages = ["cuda_python"]
why = "no GPU"
[[pin]]
packages = ["torch==2.13.0", "absent==1"]
tags = ">=v1.2.0"
why = "no CPU build"
[[add]]
packages = ["dill"]
why = "not declared"
"""
    rules = exceptions(tmp_path, text)
    found = needs(METADATA, rules, TAG)
    assert found.first == ("torch==2.13.0",)
    assert found.rest == ("dill", "einops", "Numpy")
    assert needs(METADATA, rules, Tag.parse("v1.1.0")).first == ("torch==2.14.1",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[add]]\npackages = ["dill"]', "`why` is missing"),
        ('[[add]]\npackages = ["dill =="]\nwhy = "x"', "is not a requirement"),
        ('[[leave-out]]\npackages = ["dill==1"]\nwhy = "x"', "by its name alone"),
        ('[[add]]\nwhy = "x"', "`packages` is missing"),
        ('[[add]]\npackage = ["dill"]\nwhy = "x"', "`package` is not known"),
        ("[[leaveout]]", "`leaveout` is not known"),
        ("first = [", "cannot be read"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, text, message):
    with pytest.raises(PatchsetError, match=message):
        exceptions(tmp_path, text)


def test_ours_reads_and_five_releases_share_their_torch():
    rules = read_exceptions(Path(__file__).parents[2])
    assert {rule.kind for rule in rules.rules} == {"pin", "add", "leave-out"}
    assert needs(METADATA, rules, Tag.parse("v0.5.23")).first == ("torch==2.13.0", "triton==3.7.1")
