"""Pictures: of every probe, in both formats, without a display, and refused before anything is measured."""

from __future__ import annotations

import sys
from importlib.util import find_spec as real

import pytest

from rebasekit.probes.measure import plots

ARGUMENTS = {
    "load_multi": ("--chains", 1, 2, "--tokens", 100, "--laps", 2),
    "depth_probe": ("--tokens", 160),
    "conc": ("--clients", 1, 2, "--requests", 1, "--tokens", 50, "--new", 3),
    "speed": ("--tokens", 200, "--new", 4, "--repeats", 1),
}


@pytest.mark.parametrize("probe", ARGUMENTS)
@pytest.mark.parametrize(("suffix", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_a_picture_of_each_probe(serve, run, tmp_path, probe, suffix, magic):
    target = tmp_path / f"picture.{suffix}"
    result = run(probe, serve().url, *ARGUMENTS[probe], "--plot", target)
    assert result.exit == 0 and f"drawn: {target}" in result.err
    assert target.read_bytes().startswith(magic)
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


@pytest.mark.parametrize(("target", "words"), [
    ("picture.jpg", "neither a PNG nor an SVG"),
    ("nowhere/picture.png", "there is no folder"),
])  # fmt: skip
def test_a_picture_that_cannot_be_drawn_is_refused_first(serve, run, tmp_path, target, words):
    server = serve()
    result = run("load_multi", server.url, "--plot", tmp_path / target)
    assert result.exit == 2 and words in result.err and server.asked == []


def test_without_matplotlib_it_says_which_extra(serve, run, monkeypatch, tmp_path):
    monkeypatch.setattr(plots, "find_spec", lambda name: None if name == "matplotlib" else real(name))
    server = serve()
    result = run("load_multi", server.url, "--plot", tmp_path / "x.svg")
    assert result.exit == 4 and "pip install 'rebasekit[plots]'" in result.err and server.asked == []


def test_without_a_picture_matplotlib_is_not_loaded(serve):
    import subprocess

    code = "import sys; from rebasekit.cli import main; main(sys.argv[1:]); print('matplotlib' in sys.modules)"
    argv = ("load_multi", serve().url, "--tokens", "50", "--chains", "1", "-q")
    done = subprocess.run([sys.executable, "-c", code, *argv], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("False\n")
