"""Marks: only what the bot wrote is read as the bot's, and people's text around it stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebasekit.forge import marker
from rebasekit.forge.marker import Mark

MARK = Mark("pull", {"tag": "v0.5.20", "state": "0123abcd"})
MARKS = st.sampled_from(
    ["<!-- rebasekit end -->", "<!-- rebasekit pull tag=v9 -->", "<!-- rebasekit trouble key=run -->"]
)
TEXTS = st.lists(MARKS | st.text(st.characters(exclude_categories=["Cs"]), max_size=20), max_size=5).map("".join)


def test_written_and_read() -> None:
    assert str(MARK) == "<!-- rebasekit pull tag=v0.5.20 state=0123abcd -->"
    assert marker.read(f"before\n{MARK}\nafter", "pull") == MARK
    assert marker.read(f"{MARK}", "trouble") is None
    assert marker.read(None, "pull") is None
    assert marker.read("<!-- rebasekit pull tag=v1 --", "pull") is None


@pytest.mark.parametrize("value", ["a b", "x-->", "a--b", "", "v1>", "\n"])
def test_a_value_that_could_end_the_comment_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="cannot stand in a mark"):
        str(Mark("pull", {"tag": value}))


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_what_people_write_stays(before: str, after: str, old: str, new: str) -> None:
    """`old` and `new` are full of text of others, which may look like marks; what people wrote is not read at all."""
    before, after = (text.replace("rebasekit", "bot") for text in (before, after))
    body = before + marker.framed(MARK, old) + after
    again = marker.replaced(body, Mark("pull", {"tag": "v2"}), new)
    assert again == before + marker.framed(Mark("pull", {"tag": "v2"}), new) + after
    assert marker.replaced(again, Mark("pull", {"tag": "v2"}), new) == again
    assert marker.read(again, "trouble") is None


def test_without_a_mark_the_body_is_replaced() -> None:
    assert marker.replaced("somebody cleared it", MARK, "text") == marker.framed(MARK, "text")
    assert marker.replaced(f"a\n{MARK}\ncut off", MARK, "text") == "a\n" + marker.framed(MARK, "text")
