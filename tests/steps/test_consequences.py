"""Findings that come of a hunk without a place say so, and what to do about it is to place the hunk."""

from __future__ import annotations

import pytest
from harness import Case, patch_toml, series

from rebasekit.model.finding import Finding
from rebasekit.model.hunk import Form, Place
from rebasekit.model.placement import Outcome, Placement
from rebasekit.model.tag import Tag
from rebasekit.model.verdict import Verdict
from rebasekit.steps.consequences import explained, given

OLD = """class Pool:
    def __init__(self, size):
        self.size = size
        self.used = {}

    def take(self):
        taken = self.size
        return taken
"""
NEW = OLD.replace("        self.used = {}\n", "        self.used = {}\n        self.peak = 0\n")
GIVES = (
    'id = "gives"\nfile = "pkg/a.py"\nscope = "Pool.__init__"\nplace = "after"\nat = "self.used = ..."\nlines = "{}"'
)
USES = (
    'id = "uses"\nfile = "pkg/a.py"\nscope = "Pool.take"\nplace = "before"\nat = "return taken"\nlines = "self.{} += 1"'
)


def carried(tmp_path, gives: str, uses: str):
    patch = patch_toml(GIVES.format(gives), USES.format(uses))
    tags = {"v1.0.0": {"pkg/a.py": OLD}, "v1.1.0": {"pkg/a.py": NEW}}
    case = Case(
        tmp_path, upstream=tags, patchset={"series.toml": series("v1.0.0", patches=["p"]), "p/patch.toml": patch}
    )
    result = case.run("rebase", "v1.1.0")
    assert result.placements == {"p/gives": "conflict", "p/uses": "carried"}
    return result


def test_what_an_open_hunk_has(tmp_path):
    result = carried(tmp_path, "self.busy = 0", "busy")
    findings = result.hunk("p/uses")["findings"]
    assert findings and {f["kind"] for f in findings} <= {"api-gone", "unbound"}, "and nothing to review"
    for finding in findings:
        assert finding["message"].endswith("; `p/gives` has it, and has no place on v1.1.0 yet")
        assert finding["next"] == "rebasekit resolve p/gives --tag v1.1.0"
    assert result.json["next"] == ["rebasekit resolve p/gives --tag v1.1.0", "rebasekit rebase v1.1.0"]


def test_what_it_has_not(tmp_path):
    findings = carried(tmp_path, "self.other = 0", "busy").hunk("p/uses")["findings"]
    assert findings and not any("p/gives" in f["message"] + f["next"] for f in findings)


def test_a_parameter_that_an_open_hunk_has():
    form = Form("a.py", "f", Place.PARAMETER, lines="watch: bool = False")
    giver = Placement("p", "gives", Outcome.CONFLICT, form, "a.py", "f")
    verdict = Verdict(Tag.parse("v1.1.0"), Tag.parse("v1.0.0"), (giver,))
    message = "this call of `pkg.a.f` does not fit in v1.1.0: it has no parameter `watch`"
    (found,) = explained([Finding("signature-changed", "b.py", 1, message, "", "p", "uses")], verdict)
    assert found.next == "rebasekit resolve p/gives --tag v1.1.0"
    (other,) = explained([Finding("api-gone", "b.py", 1, "`pkg.g` is gone; `watch` is near", "", "p", "uses")], verdict)
    assert other.next == ""


@pytest.mark.parametrize(
    ("place", "lines", "names"),
    [
        (Place.AFTER, "import os.path\nfrom a import b as c\n", {"os", "c"}),
        (Place.AFTER, "def f(x):\n    y = 1\n", {"f", "x", "y"}),
        (Place.PARAMETER, "watch: bool = False", {"_", "watch"}),
        (Place.EDIT, "@@ 2,1 @@\n+        self.a = b\n@@ 9,0 @@\n+        c = 1\n", {"a", "c"}),
        (Place.EDIT, "@@ 2,1 @@\n+        tail: int = 0,\n+    ):\n+        self.a = b\n", {"tail", "a"}),
        (
            Place.EDIT,
            "@@ 2,1 @@\n+    def g(self, x,\n+        y: int):\n@@ 9,1 @@\n+    if z := 1:\n",
            {"g", "self", "x", "y", "z"},
        ),
        (Place.EDIT, "@@ 2,1 @@\n+        call(\n+            a=b,\n+        )\n@@ 4,0 @@\n+        c = 1\n", {"c"}),
        (Place.EDIT, "rubbish", set()),
        (Place.AFTER, "else:\n    pass\n", set()),
    ],
)
def test_given(place, lines, names):
    assert given(Form("a.py", "f", place, lines=lines)) == names
