"""What a person reads: the verdict's reason, what a site builds, where a named class is called, and the way there."""

from __future__ import annotations

from typing import Any

import pytest

from rebasekit.checks.reach.wording import lines


def site(**changes: Any) -> dict[str, Any]:
    found = {"file": "a/x.py", "line": 4, "scope": "make", "how": "direct", "guards": [], "liveness": "serving"}
    return {**found, "type": "a.x.Pool", **changes}


def text(verdict: str = "live", *sites: dict[str, Any], **changes: Any) -> list[str]:
    data = {
        "name": "a.x.Pool",
        "tag": "v1",
        "verdict": verdict,
        "sites": list(sites),
        "kind": "class",
        "file": "a/x.py",
    }
    return list(lines({**data, "line": 1, "why": [], **changes}))


def test_the_first_line_has_name_place_and_verdict() -> None:
    assert text()[0] == "class a.x.Pool in v1, a/x.py:1: live"


@pytest.mark.parametrize(
    ("verdict", "sites", "changes", "reason"),
    [
        ("live", [site()], {}, "serving builds it in 1 place"),
        (
            "live", [site(), site(type="a.Sub"), site(liveness="test")], {},
            "serving builds it in 2 places, in 1 as a subclass",
        ),
        ("live", [site(type="a.Sub, a.x.Pool")], {}, "serving builds it in 1 place"),
        ("subclass-only", [], {"subclasses": ["a.B", "a.C"]}, "never built as itself; serving builds B, C"),
        (
            "simulation-only", [], {"subclasses": ["a.B"]},
            "built as itself only in code whose name says that it simulates; serving builds its subclasses B",
        ),
        ("unconstructed", [], {}, "nothing builds it"),
        ("unconstructed", [], {"why": ["built only by: test"]}, "built only by: test"),
        ("uncalled", [], {"kind": "function"}, "nothing calls it"),
        ("uncalled", [site(liveness="dead")], {"kind": "function"}, "nothing that runs calls it"),
        ("live", [site(), site()], {"kind": "method"}, "serving gets to it from 2 places"),
    ],
)  # fmt: skip
def test_a_verdict_has_a_reason(verdict: str, sites: list[Any], changes: dict[str, Any], reason: str) -> None:
    assert text(verdict, *sites, **changes)[1] == f"  {reason}"


def test_a_site_says_what_it_builds_and_where_a_named_class_is_called() -> None:
    calls = [
        {"file": "a/x.py", "line": 9, "scope": "make"},
        {"file": "a/y.py", "line": 2, "scope": "Holder.__init__"},
    ]
    assert text("live", site(type="a.Sub", how="variable", calls=calls))[2:] == [
        "a/x.py:4: serving, variable, in make, builds Sub",
        "    called at line 9, a/y.py:2 in Holder.__init__",
    ]
    assert text("live", site(how="super().__init__", calls=calls[:1]))[3] == "    built at line 9"


def test_a_long_way_is_cut_in_its_middle_and_modules_go_by_their_file() -> None:
    chain = [{"file": f"a/{n}.py", "line": 1, "scope": "<module>" if n < 2 else f"f{n}"} for n in range(12)]
    assert (
        text("live", site(chain=chain))[3]
        == "    from a/0.py → a/1.py → f2 → … 3 steps … → f6 → f7 → f8 → f9 → f10 → f11"
    )
    twice = [{"file": "a/0.py", "line": line, "scope": "<module>"} for line in (1, 5)]
    assert text("live", site(chain=twice))[3] == "    from a/0.py"


def test_tests_are_cut_where_nobody_reads_on() -> None:
    shown = text("live", site(guards=["x" * 300, "not y"]))[3:]
    assert [len(line) for line in shown] == [len("    if ") + 160, len("    if not y")]
