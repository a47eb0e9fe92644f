"""The patched wheel: what it holds, what it says, and that it is the same every time."""

from __future__ import annotations

import json
import zipfile

import pytest
from installer.sources import WheelFile
from packaging.metadata import Metadata
from packaging.utils import parse_wheel_filename

from rebasekit.errors import StateError
from rebasekit.model.progress import SILENT
from rebasekit.model.tag import Tag
from rebasekit.steps.build_content import content, differences
from rebasekit.steps.build_wheel import local_version, metadata_of, write_wheel

from .conftest import CHANGES, COMPILED, FILES, METADATA, SERIES, TAG, make_wheel

INFO = "pkg-1.0.0+rk.abc123def456.dist-info"


def test_name_and_members(patched):
    path, _ = patched
    assert path.name == "pkg-1.0.0+rk.abc123def456-py3-none-any.whl"
    assert str(parse_wheel_filename(path.name)[1]) == "1.0.0+rk.abc123def456"
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert archive.read("pkg/core.py") == CHANGES["pkg/core.py"]
        assert archive.read("pkg/new.py") == CHANGES["pkg/new.py"]
        assert "pkg/old.py" not in archive.namelist()
        assert archive.namelist()[-1] == f"{INFO}/RECORD"
        assert not [name for name in archive.namelist() if name.startswith("pkg-1.0.0.dist-info")]


def test_compiled_files_are_kept(patched):
    with zipfile.ZipFile(patched[0]) as archive:
        assert archive.read(COMPILED) == FILES[COMPILED]
        assert archive.getinfo(COMPILED).external_attr >> 16 == 0o100755
    assert patched[1].compiled == (COMPILED,)


def test_a_wheel_library_accepts_record(patched):
    with WheelFile.open(patched[0]) as wheel:
        wheel.validate_record()
        assert wheel.version == "1.0.0+rk.abc123def456"


def test_metadata_differs_in_the_version_only(patched):
    with zipfile.ZipFile(patched[0]) as archive:
        said = archive.read(f"{INFO}/METADATA")
    assert said == METADATA.replace(b"Version: 1.0.0", b"Version: 1.0.0+rk.abc123def456", 1)
    assert Metadata.from_email(said).requires_dist == metadata_of(patched[0]).requires_dist


def test_same_bytes_each_time(upstream, patched, tmp_path):
    again = write_wheel(upstream, dict(reversed(CHANGES.items())), set(), TAG, SERIES, tmp_path, SILENT)
    assert again.read_bytes() == patched[0].read_bytes()
    assert list(tmp_path.iterdir()) == [again]  # nothing half-written beside it


def test_manifest_names_the_upstream_wheel(upstream, patched):
    with zipfile.ZipFile(patched[0]) as archive:
        said = json.loads(archive.read(f"{INFO}/rebasekit.json"))
    assert said["tag"] == "v1.0.0" and said["series"] == SERIES
    assert said["upstream"]["wheel"] == upstream.name
    assert said["files"]["pkg/old.py"] is None


def test_content_comes_from_the_proof_and_finds_a_pristine_wheel(upstream, patched):
    assert differences(patched[0], patched[1]) == []
    assert differences(upstream, patched[1]) == ["pkg/core.py", "pkg/new.py", "pkg/old.py"]


def test_executable_bit_of_a_new_file(upstream, tmp_path):
    path = write_wheel(upstream, {"pkg/run.py": b"#!/bin/sh\n"}, {"pkg/run.py"}, TAG, SERIES, tmp_path, SILENT)
    with zipfile.ZipFile(path) as archive:
        assert archive.getinfo("pkg/run.py").external_attr >> 16 == 0o100755


def test_metadata_without_a_plain_version_is_refused(tmp_path):
    odd = make_wheel(tmp_path / "odd", metadata=METADATA.replace(b"Version: 1.0.0", b"version: 1.0.0", 1))
    with pytest.raises(StateError, match="no plain `Version:` line"):
        write_wheel(odd, {}, set(), TAG, SERIES, tmp_path / "out", SILENT)
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    ("digest", "version"), [("8925aef9d823ffff", "rk.8925aef9d823"), ("012345678901ff", "rk.s012345678901")]
)
def test_version_survives_normalisation(digest, version):
    from packaging.version import Version

    said = local_version(Tag.parse("v0.5.20"), digest)
    assert said == str(Version(said)) == f"0.5.20+{version}"


def test_content_leaves_dist_info_out(upstream):
    assert all(path.startswith("pkg/") for path in content(upstream, {}, "1.0.0").files)
