"""Modules imported in processes of their own: what is shared between them, and what is not."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from rebasekit.probes.scripts import script


def imported(folder, *modules):
    """What the script says of each module, and how often `helper` and the package were imported."""
    argv = [sys.executable, str(script("imports.py")), "pkg", *modules]
    environ = {**os.environ, "PYTHONPATH": str(folder), "NOTES": str(folder / "notes")}
    done = subprocess.run(argv, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"module"')]
    notes = (folder / "notes").read_text().split()
    return {each["module"]: each["error"] for each in said}, notes.count("helper"), notes.count("pkg")


def write(folder, **files):
    note = "import os\nwith open(os.environ['NOTES'], 'a') as stream:\n    stream.write(__name__ + '\\n')\n"
    (folder / "pkg").mkdir()
    (folder / "helper.py").write_text(note)
    (folder / "pkg" / "__init__.py").write_text(note)
    for name, text in files.items():
        (folder / "pkg" / f"{name}.py").write_text(text)


def test_what_is_not_the_packages_is_imported_once(tmp_path):
    write(tmp_path, a="import helper", b="import helper", c="import helper", d="import helper")
    found, helper, package = imported(tmp_path, "pkg.a", "pkg.b", "pkg.c", "pkg.d")
    assert found == dict.fromkeys(["pkg.a", "pkg.b", "pkg.c", "pkg.d"], "")
    assert (helper, package) == (2, 4)  # by the first, and by the process that the others are forked from


def test_what_another_module_did_first_helps_nobody(tmp_path):
    write(tmp_path, a="X = 1", b="import pkg\nY = pkg.a.X", c="import helper, nowhere", d="import pkg.b")
    found, _, _ = imported(tmp_path, "pkg.a", "pkg.b", "pkg.c", "pkg.d")
    assert found["pkg.a"] == ""
    assert "has no attribute 'a'" in found["pkg.b"] and "has no attribute 'a'" in found["pkg.d"]
    assert "No module named 'nowhere'" in found["pkg.c"]


def test_a_first_module_that_ends_its_process_costs_the_others_nothing(tmp_path):
    write(tmp_path, a="import os\nos._exit(3)", b="import helper")
    found, _, _ = imported(tmp_path, "pkg.a", "pkg.b")
    assert found == {"pkg.a": "ended with 3", "pkg.b": ""}
