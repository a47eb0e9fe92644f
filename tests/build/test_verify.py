"""verify-install: every way in which something else than the patched release would run is found."""

from __future__ import annotations

import os
import py_compile
import shutil

import pytest

from rebasekit.errors import StateError
from rebasekit.steps.install import verify

from .conftest import COMPILED, Installed, make_wheel

PLAIN = {"PATH": os.environ["PATH"]}


def kinds(installed, wanted, **options):
    found = verify(installed.python, wanted, environ=options.pop("environ", PLAIN), **options)
    return {(wrong.kind, os.path.basename(wrong.file)) for wrong in found.findings}  # noqa: PTH119


def test_the_patched_wheel_is_what_it_says(installed, patched):
    found = verify(installed.python, patched[1], environ=PLAIN)
    assert found.findings == ()
    assert found.root == str(installed.site)


def test_after_an_import_too(installed, patched):
    """Bytecode that Python wrote itself is no finding."""
    import subprocess

    subprocess.run([installed.python, "-c", "import pkg.core, pkg._bisect"], check=True)
    assert kinds(installed, patched[1]) == set()


def test_an_older_tree_on_the_path(installed, patched, upstream, tmp_path):
    old = tmp_path / "old"
    shutil.unpack_archive(upstream, old, "zip")
    found = kinds(installed, patched[1], environ={**PLAIN, "PYTHONPATH": str(old)})
    assert ("shadowed", "pkg") in found and ("not-patched", "core.py") in found


def test_an_older_tree_where_the_server_starts(installed, patched, upstream, tmp_path):
    shutil.unpack_archive(upstream, tmp_path / "cwd", "zip")
    assert ("shadowed", "pkg") in kinds(installed, patched[1], cwd=tmp_path / "cwd")


def test_a_second_copy_that_waits_on_the_path(installed, patched, upstream, tmp_path):
    shutil.unpack_archive(upstream, tmp_path / "later", "zip")
    (installed.site / "later.pth").write_text(f"{tmp_path / 'later'}\n")
    found = kinds(installed, patched[1])
    assert ("second-copy", "pkg") in found and not any(kind == "shadowed" for kind, _ in found)


def test_a_second_installation_in_site_packages(installed, patched, upstream):
    older = make_wheel(upstream.parent / "older", files={}, version="0.9.0")
    installed.unpack(older)
    assert kinds(installed, patched[1]) == {("second-copy", "pkg-0.9.0.dist-info")}


def test_a_module_that_an_earlier_version_left(installed, patched):
    (installed.site / "pkg" / "gone.py").write_text("z = 1\n")
    assert kinds(installed, patched[1]) == {("unrecorded", "gone.py")}


@pytest.mark.parametrize("checked", ["timestamp", "unchecked"])
def test_a_stale_pyc(installed, patched, tmp_path, checked):
    source = installed.site / "pkg" / "core.py"
    other = tmp_path / "core.py"
    other.write_bytes(source.read_bytes().replace(b"2", b"1"))
    os.utime(other, (source.stat().st_atime, source.stat().st_mtime))  # same size, same time: Python cannot tell
    mode = py_compile.PycInvalidationMode
    compiled = py_compile.compile(
        str(other), invalidation_mode=mode.TIMESTAMP if checked == "timestamp" else mode.UNCHECKED_HASH
    )
    cache = installed.site / "pkg" / "__pycache__"
    cache.mkdir()
    shutil.copy2(compiled, cache)
    (found,) = verify(installed.python, patched[1], environ=PLAIN).findings
    assert found.kind == "stale-pyc" and "pkg/core.py" in found.message


def test_a_missing_compiled_module(installed, patched):
    (installed.site / COMPILED).unlink()
    (found,) = verify(installed.python, patched[1], environ=PLAIN).findings
    assert found.kind == "missing-compiled" and "falls back" in found.message


def test_a_compiled_module_that_does_not_load(upstream, patched, tmp_path):
    from rebasekit.steps.build_content import content

    broken = make_wheel(tmp_path / "broken", files={"pkg/__init__.py": b"", COMPILED: b"no library"})
    installed = Installed(tmp_path / "env", broken)
    (found,) = verify(installed.python, content(broken, {}, "1.0.0"), environ=PLAIN).findings
    assert found.kind == "missing-compiled" and "does not load" in found.message
    assert verify(installed.python, content(broken, {}, "1.0.0"), environ=PLAIN, load=False).findings == ()


def test_a_compiled_module_for_another_python(patched, tmp_path):
    from rebasekit.steps.build_content import content

    name = "pkg/_fast.cpython-39-x86_64-linux-gnu.so"
    wheel = make_wheel(tmp_path / "other", files={"pkg/__init__.py": b"", name: b"x"})
    installed = Installed(tmp_path / "env", wheel)
    (found,) = verify(installed.python, content(wheel, {}, "1.0.0"), environ=PLAIN).findings
    assert found.kind == "missing-compiled" and "not for this interpreter" in found.message


def test_a_pristine_wheel_under_the_patched_name(patched, upstream, tmp_path):
    """Planted: upstream's files, our version."""
    from .conftest import FILES

    fake = make_wheel(tmp_path / "fake", files=FILES, version="1.0.0+rk.abc123def456")
    found = kinds(Installed(tmp_path / "env", fake), patched[1])
    assert found == {("not-patched", "core.py"), ("missing", "new.py"), ("unrecorded", "old.py")}


def test_nothing_installed(patched, tmp_path):
    empty = Installed(tmp_path / "env", make_wheel(tmp_path / "x", files={}))
    (empty.site / "pkg").rmdir()
    assert ("not-installed", "pkg") in kinds(empty, patched[1])


def test_a_python_that_cannot_be_asked(patched, tmp_path):
    with pytest.raises(StateError, match="cannot be asked"):
        verify(tmp_path / "no" / "python", patched[1])
