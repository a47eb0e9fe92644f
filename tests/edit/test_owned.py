"""Pieces that know whose they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebasekit.edit.owned import Overlap, Owned, Splice, spliced

TEXT = "".join(f"{n}\n" for n in range(10))  # two characters a line


def owned(*splices: tuple[str, Splice]) -> Owned:
    result = Owned(TEXT)
    for owner, splice in splices:
        result.splice_pristine(owner, [splice])
    return result


def at(line: int, count: int, new: str) -> Splice:
    return Splice(line * 2, (line + count) * 2, new)


def test_insertions_at_one_offset_keep_the_hunks_order() -> None:
    assert owned(("a", at(3, 0, "A\n")), ("b", at(3, 0, "B\n"))).text.startswith("0\n1\n2\nA\nB\n3\n")


def test_a_replacement_stands_where_the_text_stood() -> None:
    """Also when another hunk has put lines behind that text before."""
    behind, instead = ("a", at(4, 0, "A\n")), ("b", at(3, 1, "B\n"))
    for order in ([behind, instead], [instead, behind]):
        assert owned(*order).text.startswith("0\n1\n2\nB\nA\n4\n")
    before = ("a", at(3, 0, "A\n"))
    for order in ([before, instead], [instead, before]):
        assert owned(*order).text.startswith("0\n1\n2\nA\nB\n4\n")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (at(2, 3, "A\n"), at(3, 1, "B\n")),
        (at(2, 3, "A\n"), at(4, 2, "B\n")),
        (at(2, 3, ""), at(3, 0, "B\n")),
        (at(3, 0, "A\n"), at(2, 3, "B\n")),
        (at(2, 1, ""), at(2, 1, "")),
        (Splice(5, 5, "x"), at(2, 1, "")),
    ],
)
def test_overlaps(first: Splice, second: Splice) -> None:
    tree = owned(("a", first))
    before = tree.text
    with pytest.raises(Overlap) as caught:
        tree.splice_pristine("b", [at(8, 1, "other\n"), second])
    assert caught.value.owner == "a"
    assert tree.text == before


def test_two_replacements_of_one_hunk_let_nobody_between() -> None:
    tree = Owned(TEXT)
    tree.splice_pristine("a", [at(2, 1, "A\n"), at(3, 1, "B\n")])
    with pytest.raises(Overlap):
        tree.splice_pristine("b", [at(3, 0, "x\n")])
    assert tree.text.startswith("0\n1\nA\nB\n4\n")


def test_who_owns_which_line() -> None:
    tree = owned(("a", at(2, 1, "A\nAA\n")), ("b", Splice(9, 9, "b")), ("c", at(7, 1, "")))
    assert tree.text == "0\n1\nA\nAA\n3\n4b\n5\n6\n8\n9\n"
    assert (tree.lines_of("a"), tree.lines_of("b"), tree.lines_of("c")) == ((3, 4), (6,), ())
    assert tree.owners_of_line()[2:6] == [{"a"}, {"a"}, {None}, {None, "b"}]


def test_on_lines_of_ours() -> None:
    tree = owned(("a", at(2, 0, "A\nAA\n")))
    start = tree.text.index("AA")
    tree.splice_current("b", [Splice(start, start, "B1\n"), Splice(start, start, "B2\n")])
    assert tree.text.startswith("0\n1\nA\nB1\nB2\nAA\n2\n")
    assert tree.reversed() == TEXT
    with pytest.raises(Overlap):
        tree.splice_current("c", [Splice(start, start + 2, "")])
    tree.splice_current("c", [Splice(0, 2, "C\n")])
    assert tree.text.startswith("C\n1\nA\n")
    assert tree.reversed() == TEXT


def test_splices_of_one_text() -> None:
    assert spliced("abc", [Splice(2, 3, "C"), Splice(0, 1, "A"), Splice(1, 1, "x"), Splice(1, 1, "y")]) == "AxybC"
    with pytest.raises(ValueError, match="overlap"):
        spliced("abc", [Splice(0, 2, ""), Splice(1, 3, "")])


spans = st.lists(st.integers(0, 20), min_size=2, max_size=2).map(sorted)
news = st.text("xy\n", max_size=3)


@given(st.lists(st.tuples(spans, news), max_size=6))
def test_any_order_of_disjoint_splices_is_the_same(drawn: list[tuple[list[int], str]]) -> None:
    splices: list[Splice] = []
    for (start, end), new in drawn:  # disjoint, and no two begin or end at one offset
        if all(end < s.start or start > s.end for s in splices):
            splices.append(Splice(start, end, new))
    wanted = spliced(TEXT, splices)
    for order in (splices, splices[::-1]):
        tree = Owned(TEXT)
        for number, splice in enumerate(order):
            tree.splice_pristine(str(number), [splice])
        assert (tree.text, tree.reversed()) == (wanted, TEXT)
        assert "".join(p.text for p in tree.pieces if p.owner == "0" and p.gone is None) == (
            order[0].new if order else ""
        )
    tree = Owned(TEXT)
    tree.splice_current("a", splices)
    assert (tree.text, tree.reversed()) == (wanted, TEXT)


@given(st.lists(st.tuples(spans, news), max_size=6))
def test_refusals_change_nothing(drawn: list[tuple[list[int], str]]) -> None:
    tree = Owned(TEXT)
    for number, ((start, end), new) in enumerate(drawn):
        before = tree.text
        try:
            tree.splice_pristine(str(number), [Splice(start, end, new)])
        except Overlap:
            assert tree.text == before
        assert tree.reversed() == TEXT
