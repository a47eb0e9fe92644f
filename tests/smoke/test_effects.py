"""Which lines can run, who ran them, and what a rank is called."""

from __future__ import annotations

import pytest

from rebasekit.probes.effects import Notes, read_notes, role, runnable, state
from rebasekit.steps.smoke import effects

SOURCE = b'''\
"""Doc."""

LIMIT = 3


class A:
    """Doc."""

    flag: bool = False

    def f(self):
        # why
        if self.flag:
            return [x for x in (
                1,
            )]
        return None
'''


def of(*lines):
    return runnable("p/h", "m.py", SOURCE, lines)


def test_comments_and_blank_lines_cannot_run():
    assert of(2, 4, 5, 12).lines == frozenset()
    assert of(12, 13, 17).functions == {13, 17}


def test_bodies_count_only_when_there_is_no_function():
    assert of(3, 9).lines == {3, 9}
    assert of(9, 10, 11, 13).lines == {13}  # the `def` line is the body's


def test_states():
    inside, body = of(13, 14), of(9)
    assert state(inside, Notes()) == ("never", frozenset())
    imported = Notes(files={"m.py"})
    assert state(inside, imported)[0] == "imported only"
    imported.bodies["m.py"].add(9)
    assert state(body, imported) == ("ran", {9})
    imported.lines["m.py"].add(13)
    assert state(inside, imported) == ("ran", {13})


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("sglang::scheduler_TP0", "TP0"),
        ("sglang::scheduler_DP1_TP0_EP0", "DP1_TP0_EP0"),
        ("sglang::detokenizer", "detokenizer"),
        ("sglang::scheduler", "scheduler"),
        ("/venv/bin/python", "server"),
        ("", "server"),
    ],
)
def test_roles(title, name):
    assert role(title) == name


def test_notes_of_every_process(tmp_path):
    (tmp_path / "7.tsv").write_text(
        "file\t/s/m.py\nbody\t/s/m.py\t9\nrun\t/s/m.py\t13\nclass\tm.A\tm.B\nstand-in\tsgl_kernel\n"
    )
    notes = read_notes(tmp_path, tmp_path.__class__("/s"))[7]
    assert notes.files == {"m.py"} and notes.lines["m.py"] == {13} and notes.bodies["m.py"] == {9}
    assert notes.classes["m.A"] == {"m.B"} and notes.stand_ins == {"sgl_kernel"}


def test_a_hunk_that_one_rank_never_reaches():
    ran, not_ = Notes(files={"m.py"}), Notes(files={"m.py"})
    ran.lines["m.py"].add(13)
    (row,) = effects.table([of(13)], {"p/h": ""}, {"TP0": [ran], "TP1": [not_], "server": [not_]}, "cpu")
    assert row.problem == "ran in some ranks and not in TP1"


def test_launches_add_up():
    """Reached in the second launch only, by the same rank: that is reached."""
    ran = Notes(files={"m.py"})
    ran.lines["m.py"].add(13)
    (row,) = effects.table([of(13)], {"p/h": ""}, {"TP0": [Notes(), ran], "TP1": [ran, Notes()]}, "cpu")
    assert not row.problem and row.ranks["TP0"] == "ran 1/1"


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_reason_for_one_device(device):
    idle = "cpu: needs a card"
    (never,) = effects.table([of(13)], {"p/h": idle}, {"TP0": [Notes(files={"m.py"})]}, device)
    assert (never.idle, bool(never.problem)) == (("needs a card", False) if device == "cpu" else ("", True))
    ran = Notes(files={"m.py"})
    ran.lines["m.py"].add(13)
    (there,) = effects.table([of(13)], {"p/h": idle}, {"TP0": [ran]}, device)
    assert bool(there.problem) == (device == "cpu")
    assert effects.reason("upstream: never calls it", device) == "upstream: never calls it"


def test_a_hunk_of_comments_has_nothing_to_run():
    (row,) = effects.table([of(12)], {"p/h": ""}, {"TP0": [Notes()]}, "cpu")
    assert (row.state, row.problem, row.lines) == ("ran", "", 0)


def test_a_class_that_was_never_built():
    (row,) = effects.constructed({"m.A": ("p/h",)}, {"TP0": [Notes()]})
    assert not row.ok and row.built == {}


def test_files_of_classes():
    exists = {"pkg/core.py": "", "pkg/sub/__init__.py": ""}
    names = {"pkg.core.A": (), "pkg.sub.B": (), "pkg.gone.C": ()}
    assert effects.class_files(names, exists) == {"pkg.core.A": "pkg/core.py", "pkg.sub.B": "pkg/sub/__init__.py"}
