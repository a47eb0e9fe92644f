"""Small wheels and environments: a package with a compiled module, as upstream would ship it."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from rebasekit.model.progress import SILENT
from rebasekit.model.tag import Tag
from rebasekit.steps.build_content import content, digest_of
from rebasekit.steps.build_wheel import write_wheel

TAG = Tag.parse("v1.0.0")
SERIES = "abc123def456" + "0" * 52
EXTENSION = Path(importlib.util.find_spec("_bisect").origin)  # any compiled module of this Python
COMPILED = f"pkg/{EXTENSION.name}"
FILES = {
    "pkg/__init__.py": b"",
    "pkg/core.py": b"def answer():\n    return 1\n",
    "pkg/old.py": b"x = 1\n",
    "pkg/data.txt": b"text\n",
    COMPILED: EXTENSION.read_bytes(),
}
CHANGES = {"pkg/core.py": b"def answer():\n    return 2\n", "pkg/new.py": b"y = 2\n", "pkg/old.py": None}
METADATA = b"Metadata-Version: 2.1\nName: pkg\nVersion: 1.0.0\nRequires-Dist: torch==2.13.0\n\nVersion: not this one\n"


def make_wheel(folder, files=FILES, version="1.0.0", metadata=METADATA):
    """A wheel as a build backend writes it; returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"pkg-{version}-py3-none-any.whl"
    info = f"pkg-{version}.dist-info"
    members = {
        **files,
        f"{info}/METADATA": metadata.replace(b"Version: 1.0.0", f"Version: {version}".encode()),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: py3-none-any\n",
    }
    rows = [f"{name},{digest_of(data)},{len(data)}" for name, data in members.items()]
    members[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,"]).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("pkg/", (2026, 1, 2, 3, 4, 6)), b"")
        for name, data in members.items():
            member = zipfile.ZipInfo(name, (2026, 1, 2, 3, 4, 6))
            member.external_attr = (0o100755 if name.endswith(".so") else 0o100644) << 16
            archive.writestr(member, data)
    return path


class Installed:
    """An environment with a wheel unpacked into it."""

    def __init__(self, folder, wheel):
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        self.python = folder / "bin" / "python"
        self.site = folder / "lib" / f"python3.{sys.version_info[1]}" / "site-packages"
        self.unpack(wheel)

    def unpack(self, wheel):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(self.site)


@pytest.fixture(scope="session")
def upstream(tmp_path_factory):
    return make_wheel(tmp_path_factory.mktemp("upstream"))


@pytest.fixture(scope="session")
def patched(upstream, tmp_path_factory):
    """The wheel with the series, and what it has to hold."""
    path = write_wheel(upstream, CHANGES, set(), TAG, SERIES, tmp_path_factory.mktemp("dist"), SILENT)
    return path, content(upstream, CHANGES, "1.0.0+rk.abc123def456")


@pytest.fixture
def installed(patched, tmp_path):
    return Installed(tmp_path / "env", patched[0])
