"""The digest follows the meaning of a series and nothing else."""

from __future__ import annotations

from dataclasses import replace

from rebasekit.model.hunk import Form, Hunk, Patch, Pin, Place, Series, UpstreamSource
from rebasekit.model.tag import Tag
from rebasekit.patches import series_digest

FORM = Form("a.py", "f", Place.LAST, lines="x\n", body="x.py", pin=Pin("v1", "a"))
HUNK = Hunk("p", "one", (FORM,), "decided", "why")
PATCH = Patch("p", "title", "why", "removal", hunks=(HUNK,))
SERIES = Series(Tag("v1"), UpstreamSource("pypi", "x"), (PATCH,), ("a.b",), {"cards": 1}, {"torch": "1"})


def with_form(**changes: object) -> Series:
    hunk = replace(HUNK, forms=(replace(FORM, **changes),))  # type: ignore[arg-type]
    return replace(SERIES, patches=(replace(PATCH, hunks=(hunk,)),))


def test_it_is_stable() -> None:
    assert series_digest(SERIES) == "c42f01f8700385f1da8fe04e360ea9f3f1125b8a54cc3f248fb69f22f412178b"


def test_what_does_not_count() -> None:
    same = [
        with_form(pin=None),
        with_form(body=None),
        with_form(body="other.py"),
        replace(SERIES, patches=(replace(PATCH, title="t", why="w", removal="r", origin="o", forwarded="not-needed"),)),
        replace(SERIES, patches=(replace(PATCH, hunks=(replace(HUNK, decision="", why=""),)),)),
        replace(SERIES, source=UpstreamSource("git", url="u", prefix="python/"), base=Tag("v2"), environment={}),
    ]
    assert {series_digest(each) for each in same} == {series_digest(SERIES)}


def test_what_counts() -> None:
    forms = {"file": "b.py", "scope": "g", "place": Place.FIRST, "at": "x", "count": 2, "lines": "y\n", "to": "t"}
    forms |= {
        "keep_newlines": True,
        "mode": "executable",
        "uses": ("u",),
        "needs": ("n",),
        "relies": ("r",),
        "tags": ">v1",
    }
    other = [with_form(**{key: value}) for key, value in forms.items()]
    other += [
        with_form(uses=("a", "b")),
        with_form(uses=("a,b",)),
        replace(SERIES, patches=()),
        replace(SERIES, patches=(replace(PATCH, depends=("q",)),)),
        replace(SERIES, patches=(replace(PATCH, hunks=(HUNK, replace(HUNK, id="two"))),)),
        replace(SERIES, patches=(replace(PATCH, hunks=(replace(HUNK, forms=(FORM, FORM)),)),)),
        replace(SERIES, deployment={"cards": 2}),
        replace(SERIES, entries=()),
    ]
    assert len({series_digest(each) for each in [SERIES, *other]}) == len(other) + 1
