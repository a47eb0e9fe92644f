"""Refs that are files of their own, and everything that is no such file."""

from __future__ import annotations

from pathlib import Path

import pytest

from rebasekit.upstream.places import written_ref

ID = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize("text", [ID, ID + "\n"])
def test_a_ref_of_its_own(tmp_path: Path, text: str) -> None:
    (tmp_path / "refs/tags").mkdir(parents=True)
    (tmp_path / "refs/tags/v1.0.0").write_text(text)
    assert written_ref(tmp_path, "refs/tags/v1.0.0") == ID


@pytest.mark.parametrize("text", ["", "ref: refs/heads/main\n", ID[:39], ID + "0", "\xff" + ID])
def test_git_is_asked_for_anything_else(tmp_path: Path, text: str) -> None:
    (tmp_path / "refs/tags").mkdir(parents=True)
    (tmp_path / "refs/tags/v1.0.0").write_bytes(text.encode("latin-1"))
    assert written_ref(tmp_path, "refs/tags/v1.0.0") is None
    assert written_ref(tmp_path, "refs/tags/v2.0.0") is None


@pytest.mark.parametrize(
    "ref", ["../secret", "refs/tags/../../secret", "/etc/secret", "refs//secret", "refs/tags/-x", ""]
)
def test_a_name_does_not_lead_out_of_the_store(tmp_path: Path, ref: str) -> None:
    (tmp_path / "store/refs/tags").mkdir(parents=True)
    for place in (tmp_path / "secret", tmp_path / "store/refs/secret"):
        place.write_text(ID)
    assert written_ref(tmp_path / "store", ref) is None
