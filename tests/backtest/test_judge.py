"""The backtest's judge has to see what is wrong, whoever did it, and leave alone what is not."""

from __future__ import annotations

import textwrap

import pytest
from tests.backtest.judge import Judge, Judged, Result, differing
from tests.backtest.tools import Answer, Did
from tests.backtest.units import Step

PATH = "pkg/pool.py"
RELEASE = """\
    import os
    from bits import read_bits

    class Pool:
        def open(self, size):
            self.size = size
            if os.environ.get("FAST"):
                self.fast = True
            return self

        def close(self, size):
            self.size = size
            return None

    def build(kind):
        return Pool().open(kind)
"""
OURS = "self.bits = read_bits(size, os.environ)"
RIGHT = RELEASE.replace(
    "        self.size = size\n            if", f"        self.size = size\n            {OURS}\n            if"
)


def data(text: str) -> bytes:
    return textwrap.dedent(text).encode()


def judged(
    result: str | None, his: str | None = RIGHT, *, did: Did = Did.PUT, noted: str = "", **more: set[str]
) -> Judged:
    """What the judge says of a tool that made `result` of the release; the hunk is `RIGHT` on the same text."""
    before = {PATH: data(RELEASE)}
    written = {"h": Step("h", before, {PATH: data(RIGHT)})}
    step = Step("h", before, {PATH: data(result)}) if result is not None else Step("h")
    judge = Judge(
        written,
        lambda path: data(RELEASE) if path == PATH else None,
        (lambda path: data(his) if path == PATH else None) if his is not None else None,
        **{"known": {"read_bits"}, "now": {"read_bits"}, **more},
    )
    return judge.judge([Answer(did, step, noted)])[0]


def test_as_the_maintainer() -> None:
    assert judged(RIGHT).result is Result.SAME


HERE = "        self.size = size\n            if"


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (
            "size = size\n            return None",
            f"size = size\n            {OURS}\n            return None",
            "elsewhere",
        ),
        ("self.fast = True", f"self.fast = True\n                {OURS}", "elsewhere"),
        (HERE, f"        {OURS}\n            self.size = size\n            if", "side"),
    ],
)
def test_in_another_place(old: str, new: str, why: str) -> None:
    assert RELEASE.count(old) == 1
    found = judged(RELEASE.replace(old, new))
    assert (found.result, why in found.why) == (Result.SILENT, True), found


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("return Pool", "return 1\n\n    def build(kind):\n        return Pool", "defined twice"),
        ("return self", "return it", "not bound"),
        ("    from bits import read_bits\n", "", "not bound"),
        ("return None", "return (", "does not parse"),
    ],
)
def test_unsound(old: str, new: str, why: str) -> None:
    assert RIGHT.count(old) == 1
    found = judged(RIGHT.replace(old, new))
    assert (found.result, why in found.why) == (Result.SILENT, True), found


def test_told_is_not_silent() -> None:
    wrong = RIGHT.replace("return self", "return it")
    assert judged(wrong, noted="unbound: nothing binds `it`").result is Result.TOLD


def test_told_with_another_hunk_of_the_file() -> None:
    before = {PATH: data(RELEASE)}
    middle, last = (
        data(RIGHT.replace("return self", "return it")),
        data(RIGHT.replace("return self", "return it") + "    x = 1\n"),
    )
    first, second = Step("h", before, {PATH: middle}), Step("g", {PATH: middle}, {PATH: last})
    judge = Judge({}, lambda path: data(RELEASE), None)
    answers = [Answer(Did.PUT, first), Answer(Did.PUT, second, "unbound: nothing binds `it`")]
    assert judge.judge(answers)[0].result is Result.TOLD


def test_an_api_that_is_gone() -> None:
    assert (
        judged(RIGHT.replace("read_bits(", "self.read_bits("), now=set()).why
        == "`read_bits` is nowhere in the release any more"
    )
    assert judged(RIGHT, now=set()).result is Result.SAME  # a plain name is for pyflakes


def test_said_to_be_upstreams_although_the_maintainer_has_it() -> None:
    assert judged(None, did=Did.DROPPED).result is Result.SILENT
    assert judged(None, RELEASE, did=Did.DROPPED).result is Result.THERE


def test_asked() -> None:
    assert judged(None, did=Did.ASKED).result is Result.ASKED


def test_no_answer() -> None:
    assert judged(RIGHT, None).result is Result.SOUND
    assert judged(RIGHT, RELEASE.replace("size", "length")).result is Result.SOUND  # he wrote it anew


def test_what_is_upstreams_twice() -> None:
    twice = RIGHT.replace(OURS, "self.size = size")
    his = RELEASE
    before = {PATH: data(RELEASE)}
    step = Step("h", before, {PATH: data(twice)})
    heavy = Judge({"h": step}, lambda path: data(RELEASE), lambda path: data(his))
    assert "twice" in heavy.judge([Answer(Did.PUT, step)])[0].why


def test_names_that_a_pending_hunk_binds_do_not_count() -> None:
    before, imported = data(RELEASE), data("    import it\n" + RELEASE)
    uses = RELEASE.replace("return self", "return it")
    written = {
        "a": Step("a", {PATH: before}, {PATH: imported}),
        "b": Step("b", {PATH: imported}, {PATH: data("    import it\n" + uses)}),
    }
    judge = Judge(written, lambda path: before, None)
    put = Answer(Did.PUT, Step("b", {PATH: before}, {PATH: data(uses)}))
    assert judge.judge([Answer(Did.ASKED, Step("a")), put])[1].result is Result.SOUND
    assert judge.judge([put])[0].result is Result.SILENT


def test_what_the_fork_itself_has_wrong_is_no_tools_doing() -> None:
    unsound = RIGHT.replace("return self", "return it")
    step = Step("h", {PATH: data(RELEASE)}, {PATH: data(unsound)})
    judge = Judge({"h": step}, lambda path: data(RELEASE), None)
    assert judge.judge([Answer(Did.PUT, step)])[0].result is Result.SOUND


def test_tools_that_differ() -> None:
    before = {PATH: data(RELEASE)}
    other = RELEASE.replace(
        HERE, f"        self.size = size\n            if self:\n                {OURS}\n            if"
    )
    assert other != RELEASE
    right, wrong = Step("h", before, {PATH: data(RIGHT)}), Step("h", before, {PATH: data(other)})
    layout = Step("h", before, {PATH: data(RIGHT.replace(OURS, f"{OURS}  # why"))})
    assert differing([Answer(Did.PUT, right)], [Answer(Did.PUT, wrong)]) == ["h"]
    assert differing([Answer(Did.PUT, right)], [Answer(Did.PUT, layout)]) == []
    assert differing([Answer(Did.PUT, right)], [Answer(Did.ASKED, Step("h"))]) == []
