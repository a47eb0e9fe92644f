"""The terminal's table, its summary line, and what it says next."""

from __future__ import annotations

import io
from dataclasses import replace

from report_verdicts import CONFLICT, FULL, finding, placement, verdict
from rich.console import Console

from rebasekit.model.hunk import Form, Place
from rebasekit.model.placement import Outcome, Spot
from rebasekit.report import markdown, terminal
from rebasekit.report.report import Report, next_commands, summary
from rebasekit.report.sides import nearest, regions, sides


def printed(made, *, width=200, color=False, verbose=0):
    stream = io.StringIO()
    console = Console(
        file=stream, width=width, color_system="standard" if color else None, markup=False, highlight=False
    )
    for part in terminal.render(Report.of(made), verbose=verbose):
        console.print(part)
    return stream.getvalue()


def test_summary_of_a_clean_rebase():
    hunks = [placement(f"p/{n}") for n in range(9)]
    hunks += [placement("p/a", Outcome.SHIFTED), placement("p/b", Outcome.SHIFTED), placement("p/c", Outcome.RELOCATED)]
    assert summary(verdict(*hunks)) == "v0.5.19 → v0.5.20: carried 9, shifted 2, relocated 1 — nothing to decide"


def test_summary_of_work():
    expected = (
        "v0.5.19 → v0.5.20: carried 1, shifted 1, conflict 1, ambiguous 1, 1 by a remembered resolution"
        " — 2 hunks to place, 3 findings"
    )
    assert summary(FULL) == expected
    assert summary(verdict()).endswith("no hunks — nothing to decide")


def test_next_commands():
    assert next_commands(verdict(placement("p/one")))[0] == "rebasekit export --tag v0.5.20"
    assert next_commands(FULL) == (
        "rebasekit resolve p/three --tag v0.5.20",
        "rebasekit resolve q/four --tag v0.5.20",
        "rebasekit show p/one",
        "rebasekit rebase v0.5.20",
    )


def test_table_and_conflict():
    text = printed(FULL)
    assert "\x1b" not in text
    row = next(line for line in text.splitlines() if line.startswith("p/two"))
    assert row.split() == ["p/two", "shifted", "(remembered)", "pkg/a.py:12"]
    for words in ("unbound ×2", "-    a = 1", "+    a = 2", "+    a = 3", "<<<<<<< ours", "candidate: pkg/a.py:9 f"):
        assert words in text
    assert "pkg/b.py: unread: cannot parse" in text
    assert "place 0.12 s" in printed(FULL, verbose=2)


def test_colours_only_when_asked():
    assert "\x1b[32m    +    a = 2" in printed(FULL, color=True)


def test_nothing_is_cut_on_a_narrow_terminal():
    text = printed(verdict(placement("patch-with-a-long-name/hunk-with-a-long-name")), width=60)
    cells = [line.split(" ")[0] for line in text.splitlines()[2:]]
    assert "".join(cells).startswith("patch-with-a-long-name/hunk-with-a-long-name")
    assert "…" not in text


def test_escapes_of_others_are_shown_not_obeyed():
    assert "\\x1b[2J" in printed(verdict(findings=(finding(message="\x1b[2J[red]x"),)))
    assert "[red]" in printed(verdict(findings=(finding(message="[red]x"),)))


def test_long_sides_are_cut_unless_verbose():
    long = replace(CONFLICT, ours="".join(f"line {n}\n" for n in range(100)))
    stuck = verdict(placement("p/x", Outcome.CONFLICT, conflict=long))
    assert "more lines with `-v`" in printed(stuck)
    assert "more lines with `-v`" not in printed(stuck, verbose=1)


def test_sides_of_a_scope_that_is_gone():
    titles = [side.title for side in sides(replace(CONFLICT, theirs=None, merged=""), "v1", "v2")]
    assert titles == ["our change to the scope", "upstream, v1 → v2: the scope is gone"]


def test_where_the_anchor_alone_puts_it():
    alone = replace(CONFLICT, alone=CONFLICT.theirs + "    b = 1\n")
    hunk = Form("pkg/a.py", "f", Place.AFTER, at="a = ...", lines="b = 1")
    made = verdict(placement("p/x", Outcome.CONFLICT, conflict=alone, form=hunk, spot=Spot("pkg/a.py", "f", 7)))
    text = printed(made)
    assert "p/x: conflict at pkg/a.py:7 in `f`" in text
    assert "its place: after `a = ...` in `f` of pkg/a.py" in text
    shown = text[text.index("where the anchor alone puts it") :]
    assert "+    b = 1" in shown and "<<<<<<<" not in shown
    assert "next: rebasekit accept p/x --tag v0.5.20 --why '…'   if that is right" in text
    assert "or: rebasekit resolve p/x --tag v0.5.20\n" in text
    assert "accept" not in printed(verdict(placement("p/x", Outcome.CONFLICT, conflict=CONFLICT)))
    written = markdown.render(Report.of(made))
    assert "rebasekit accept p/x" in written and "`pkg/a.py:7`" in written


def test_of_a_long_change_only_what_the_conflict_is_about():
    parts = [f"@@ -{n},1 +{n},1 @@\n-old = {n}\n+new = {n}\n" for n in range(30)]
    merged = "<<<<<<< the hunk\nmine\n||||||| at the pin\nold = 17\n=======\nnew = 17\n>>>>>>> upstream\n"
    long = replace(CONFLICT, upstream_diff="".join(parts), merged=merged)
    hunks = [placement(f"p/{name}", Outcome.CONFLICT, conflict=long) for name in "xy"]
    text = printed(verdict(*hunks))
    assert ", 1 of its 30 parts (all with `-v`)" in text
    assert "+new = 17" in text and "+new = 16" not in text
    assert text.count("+new = 17") == 1
    assert "upstream's change to the scope, v0.5.19 → v0.5.20: shown at p/x above" in text
    assert "+new = 16" in printed(verdict(*hunks), verbose=1)
    # what cannot be told apart is shown
    assert nearest(replace(long, merged=""), tuple(long.upstream_diff.splitlines()))[1:] == (30, 30)


def test_no_column_without_findings():
    assert "findings" not in printed(verdict(placement("p/one")))
    assert "findings" in printed(verdict(placement("p/one", findings=(finding(),))))


def test_regions_keep_only_what_meets():
    lines = ["x"] * 20 + ["<<<<<<<", "a", "=======", "b", ">>>>>>>"] + ["y"] * 20
    assert regions("\n".join(lines)) == ("x", "x", "x", "<<<<<<<", "a", "=======", "b", ">>>>>>>", "y", "y", "y")
