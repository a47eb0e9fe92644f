"""The hunk key `idle`: read, kept when a patch is written, and no part of what the series means."""

from __future__ import annotations

from harness import Case, patch_toml

from rebasekit.patches.digest import series_digest
from rebasekit.patches.editor import Editor
from rebasekit.patches.load import load

HUNK = 'id = "y"\nfile = "a.py"\nscope = ""\nplace = "after"\nat = "x = 1"\nlines = "y = 2"\n'


def series_of(tmp_path, extra=""):
    case = Case(tmp_path, upstream={"v1.0.0": {"a.py": "x = 1\n"}}, patchset={"p/patch.toml": patch_toml(HUNK + extra)})
    return case, load(case.project / "patchset", check=lambda text: None).series


def test_idle_is_read_and_changes_no_digest(tmp_path):
    _, without = series_of(tmp_path / "a")
    _, with_ = series_of(tmp_path / "b", 'idle = "needs two machines"\n')
    assert (without.hunks()[0].idle, with_.hunks()[0].idle) == ("", "needs two machines")
    assert series_digest(without).startswith(series_digest(without)[:12])
    same = [hunk.forms for hunk in with_.hunks()] == [hunk.forms for hunk in without.hunks()]
    assert same


def test_idle_stays_when_another_key_is_written(tmp_path):
    case, series = series_of(tmp_path, 'idle = "needs two machines"\n')
    with Editor(case.project, check=lambda text: None) as editor:
        editor.set_decision(series.hunks()[0], "looked at")
        editor.commit()
    (hunk,) = load(case.project / "patchset", check=lambda text: None).series.hunks()
    assert (hunk.idle, hunk.decision) == ("needs two machines", "looked at")


def test_a_variant_has_no_idle_and_a_list_is_refused(tmp_path):
    case, _ = series_of(tmp_path)
    for wrong in ("idle = 3\n", 'idle = ["a"]\n', '[[hunk.variant]]\ntags = ">=v1.0.0"\nidle = "x"\n'):
        case.write({"patchset/p/patch.toml": patch_toml(HUNK + wrong)})
        assert "idle" in case.run("list").stderr
