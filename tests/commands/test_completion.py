"""`completion`: scripts that the shells accept, and words from the patchset."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from rebasekit import commands


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts(project, shell):
    result = project.run("completion", shell)
    assert (result.exit, result.stderr) == (0, "")
    for verb in commands.names():
        assert verb in result.stdout
    assert "completion --words hunks" in result.stdout
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=result.stdout, text=True, check=True)


def test_bash_completes_hunks(project, tmp_path):
    script = tmp_path / "rebasekit.bash"
    script.write_text(project.run("completion", "bash").stdout)
    words = "rebasekit() { echo first/one; echo first/two; echo second/one; }"
    ask = "COMP_WORDS=(rebasekit show fi); COMP_CWORD=2; _shtab_rebasekit; echo ${COMPREPLY[*]}"
    done = subprocess.run(
        ["bash", "-c", f"{words}; source {script}; {ask}"], capture_output=True, text=True, check=True, env=project.env
    )
    assert done.stdout.split() == ["first/one", "first/two"]


def test_words(project):
    assert project.run("completion", "--words", "hunks").stdout.split() == ["first/one", "first/two", "second/one"]
    assert project.run("completion", "--words", "patches").stdout.split() == ["first", "second"]
    project.write({"upstream-map/v1.1.0.toml": "", "upstream-map/moves.toml": ""})
    assert project.run("completion", "--words", "tags").stdout.split() == ["v1.1.0"]


def test_words_outside_a_project_are_silent(project):
    result = project.run("-C", "/", "completion", "--words", "hunks")
    assert (result.exit, result.stdout, result.stderr) == (0, "", "")


def test_a_shell_has_to_be_named(project):
    assert project.run("completion").exit == 2
    assert project.run("completion", "tcsh").exit == 2
