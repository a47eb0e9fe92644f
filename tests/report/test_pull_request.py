"""The pull request's body: complete, within the forge's limit, and text of others stays text."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from report_verdicts import CONFLICT, FULL, NEW, OLD, finding, placement, verdict

from rebasekit.checks.churn import FileChurn, ScopeChurn
from rebasekit.errors import StateError
from rebasekit.model.placement import Outcome, Spot
from rebasekit.report import pull_request, trouble
from rebasekit.report.fitting import Section, fitted
from rebasekit.report.links import address
from rebasekit.report.markdown import escape, prose
from rebasekit.steps.bot.carried import Carried
from rebasekit.steps.bot.pins import Moved
from rebasekit.steps.bot.trials import BuildResult, Note, PatchTests, Trials, build_of, smoke_of
from rebasekit.steps.smoke.result import Constructed, Effect, Smoke, StepResult
from rebasekit.visible import visible

LINK = "https://forge.example.invalid/up/blob/{tag}/src/{file}#L{line}"


def carried(of: object = FULL, **values: object) -> Carried:
    made = Carried(NEW, OLD, "package", of, Moved((), ()))  # type: ignore[arg-type]
    return replace(made, **values)  # type: ignore[arg-type]


def smoke(text: str = "x", outcome: str = "ok") -> Smoke:
    return Smoke(
        tag="v0.5.20",
        version=text,
        device="cpu",
        ranks=2,
        kernels=text,
        model=text,
        patched=True,
        steps=(StepResult(text, text, outcome, text, 1.5), StepResult("", "install", "ok", text)),
        effects=(Effect("p/one", "ran", 3, 2, {"TP0": text}, problem=text if outcome == "FAIL" else ""),),
        constructed=(Constructed(text, ("p/one",), {"TP0": (text,)}),),
        versions={"torch": text},
    )


def test_notes_are_for_the_reader() -> None:
    made = pull_request.body(carried(verdict(placement("p/one"), notes=("`A` is kept by @[environment]",))), Trials())
    assert "#### Notes\n\n- `A` is kept by @\u200b\\[environment\\]" in made
    assert "#### Notes" not in pull_request.body(carried(), Trials())


def test_what_needs_a_decision_comes_first() -> None:
    trials = Trials(BuildResult(False, "1", "w.whl", tests=(PatchTests("p", 3, 0, ("test_a",)),)), smoke("x", "FAIL"))
    made = pull_request.body(carried(), trials)
    order = ["To decide", "Placements", "Findings", "Build", "Smoke", "What ran of each hunk", "Next"]
    places = [made.index(f"#### {title}") for title in order]
    assert places == sorted(places)
    decide = made[places[0] : places[1]]
    for words in (
        "`p/three` **conflict**",
        "<<<<<<< ours",
        "`p/one`: unbound ×2",
        "`test_a` failed",
        "of no hunk: unread",
    ):
        assert words in decide
    assert pull_request.label(carried(), trials) == "conflict"


def test_title_counts() -> None:
    assert pull_request.title(carried()) == "rebase: package v0.5.19 → v0.5.20 (carried 1, review 1, conflict 2)"
    clean = verdict(placement("p/one"), placement("p/two", Outcome.UPSTREAMED))
    assert pull_request.title(carried(clean)) == "rebase: package v0.5.19 → v0.5.20 (carried 1, upstreamed 1)"
    assert len(pull_request.title(carried(clean, package="x" * 300))) < 256


def test_the_first_line_does_not_deny_what_failed() -> None:
    subject = carried(verdict(placement("p/one")))
    assert pull_request.body(subject, Trials()).startswith("**v0.5.19 → v0.5.20: carried 1 — nothing to decide**")
    failed = pull_request.body(subject, Trials(smoke=smoke("x", "FAIL")))
    assert failed.startswith("**v0.5.19 → v0.5.20: carried 1 — build or smoke to look at**")


@pytest.mark.parametrize(
    ("trials", "wanted"),
    [
        (Trials(), "clean"),
        (Trials(notes=(Note("smoke", "left out"),)), "clean"),
        (Trials(notes=(Note("smoke", "no packages", failed=True),)), "needs-decision"),
        (Trials(BuildResult(False, "1", "w")), "needs-decision"),
        (Trials(smoke=smoke("x", "FAIL")), "needs-decision"),
        (Trials(BuildResult(True, "1", "w"), smoke()), "clean"),
    ],
)
def test_label(trials: Trials, wanted: str) -> None:
    assert pull_request.label(carried(verdict(placement("p/one"))), trials) == wanted


def test_links_lead_to_upstreams_own_line() -> None:
    one = finding(file="pkg/a b).py", line=13)
    subject = carried(verdict(placement("p/one", findings=(one,))), link=LINK, lines={("pkg/a b).py", 13): 11})
    made = pull_request.body(subject, Trials())
    assert "[`pkg/a b).py:13`](https://forge.example.invalid/up/blob/v0.5.20/src/pkg/a%20b%29.py#L11)" in made
    plain = pull_request.body(replace(subject, link=""), Trials())
    assert "- `pkg/a b).py:13`: " in plain
    ours = pull_request.body(replace(subject, lines={}), Trials())  # a file that upstream does not have
    assert "- `pkg/a b).py:13`: " in ours


def test_where_the_whole_report_is() -> None:
    assert "attached to [the run that wrote this](https://x.invalid/1)" in pull_request.body(
        carried(), Trials(), "https://x.invalid/1"
    )
    assert "`rebasekit rebase v0.5.20 --markdown report.md` writes the whole report" in pull_request.body(
        carried(), Trials()
    )


def test_a_huge_report_fits_and_says_what_it_leaves_out() -> None:
    big = CONFLICT.base * 4000
    stuck = [
        placement(f"p/c{n}", Outcome.CONFLICT, conflict=replace(CONFLICT, ours=big + f"# {n}\n", upstream_diff=big))
        for n in range(200)
    ]
    found = [placement(f"p/{n}", findings=(finding(message="é" * 900),) * 5) for n in range(500)]
    subject = carried(verdict(*stuck, *found), churn=tuple(FileChurn(f"f{n}.py", n, 1) for n in range(1, 3000)))
    made = pull_request.body(subject, Trials(smoke=smoke("y" * 5000)), "https://x.invalid/1")
    assert len(made.encode()) <= pull_request.LIMIT
    for title in ("To decide", "Placements", "Findings", "What upstream changed", "Smoke", "Next"):
        assert f"#### {title}" in made
    assert re.search(r"… and \d+ more in the whole report", made)
    assert made.count("```") % 2 == 0
    assert made.count("<details>") == made.count("</details>")
    for row in [line for line in made.splitlines() if line.startswith("| `p/")]:
        assert row.count("|") == 6  # no row is cut


@given(
    st.lists(st.text(max_size=80), max_size=60),
    st.lists(st.text(max_size=400), max_size=30),
    st.integers(700, 3000),
)
def test_fitting(first: list[str], second: list[str], limit: int) -> None:
    blocks = [text.replace("\n", " ") or "-" for text in first]
    other = [text.replace("\n", " ") or "-" for text in second]
    text, cut = fitted(
        ["start", Section("A", blocks, share=0.5, fold="f"), Section("B", other, share=0.5), "end"], limit
    )
    assert len(text.encode("utf-8", "surrogatepass")) <= limit
    assert text.startswith("start")
    assert text.endswith("end\n")
    whole = sum(len(block.encode("utf-8", "surrogatepass")) + 1 for block in (*blocks, *other))
    if whole < limit / 2 - 400:
        assert not cut


# fmt: off
ODD = st.sampled_from([
    "@everyone", "@a/b", "#1", "o/r#12", "GH-3", "gh-4", "0123456789abcdef0123456789abcdef01234567", "deadbee", "<!--",
    "-->", "<script>", "</details>", "<img src=x onerror=1>", "&lt;", "|", "`", "```", "~~~", "[x](http://e)", "\\",
    "![i](//e)", "https://e.invalid/x", "www.e.invalid", "me@e.invalid", "**", "__", "~~", "$x$", "- [ ]", "1.", "> q",
    "## h", "-", ":smile:", "ſ", "\r", "\n", "\n\n", "\t", "\u2028", "\u202e", "\x1b[31m", "\x00", "=",
    "<!-- rebasekit pull tag=v9 -->",
])
# fmt: on
TEXTS = st.lists(ODD | st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.just(" "), max_size=12).map(
    "".join
)
GFM = MarkdownIt("gfm-like", {"html": True})
TAGS = {"<details>", "</details>", "<summary>", "</summary>"}


def told(tokens: list) -> tuple[str, list[str], list[str]]:
    """Text outside code, HTML, and addresses of links of what Markdown makes of a body."""
    text, html, links = [], [], []
    for token in tokens:
        inner = told(token.children) if token.children else ("", [], [])
        text.append(inner[0])
        html += inner[1]
        links += inner[2]
        if token.type == "text":
            text.append(token.content)
        elif token.type in ("html_block", "html_inline"):
            html += re.findall(r"<[^>]*>", token.content)
        elif token.type in ("link_open", "image"):
            links.append(str(token.attrs.get("href") or token.attrs.get("src")))
    return "\n".join(text), html, links


def check(made: str, links: set[str]) -> None:
    text, html, found = told(GFM.parse(made))
    assert not re.search(r"(?<![\w`])@\w", text), text
    assert not re.search(r"#\d", text.replace("#### ", ""))
    assert not re.search(r"(?i)\bgh-\d", text)
    assert not re.search(r"(?<![0-9A-Za-z])[0-9a-f]{7,40}(?![0-9A-Za-z])", text)
    assert set(html) <= TAGS, html
    assert set(found) <= links, found


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(TEXTS, TEXTS, TEXTS)
def test_text_of_others_stays_text(a: str, b: str, c: str) -> None:
    """In every place where text of upstream, of a patch or of a job can come in."""
    conflict = replace(CONFLICT, base=a, ours=b, theirs=c, upstream_diff=a, merged=f"<<<<<<<\n{b}\n>>>>>>>", reason=c)
    hostile = verdict(
        placement("p/one", findings=(finding(kind="unbound", message=a, file=b, next=c),), file=a, scope=b, decision=c),
        placement("p/two", Outcome.CONFLICT, file=a, scope=b, reason=c, conflict=conflict),
        placement("p/three", Outcome.AMBIGUOUS, reason=a, candidates=(Spot(a, b, 3), Spot(c, a, 4))),
        findings=(finding("unread", b, file=c, line=7, patch="", hunk="", next=a),),
    )
    churned = (FileChurn(a, 1, 1, (ScopeChurn(b, 1, 0), ScopeChurn(c, 0, 1))),)
    subject = carried(hostile, link=LINK, lines={(b, 13): 3, (c, 7): 2}, churn=churned)
    built = BuildResult(False, a, b, (c,), ((a, b),), (PatchTests(c, 0, 0, (a, b)),))
    trials = Trials(built, smoke(a, "FAIL"), (Note("build", b, failed=True), Note("smoke", c)))
    made = pull_request.body(subject, trials)
    check(made, {address(subject.link, subject.tag, b, 3), address(subject.link, subject.tag, c, 2)})
    rows = [line for line in made.splitlines() if line.startswith("| `p/")]
    assert len(rows) >= 3
    absent = pull_request.body(subject, replace(trials, build=None, smoke=None))
    check(absent, {address(subject.link, subject.tag, b, 3), address(subject.link, subject.tag, c, 2)})


@settings(max_examples=300, deadline=None)
@given(TEXTS, TEXTS)
def test_trouble_stays_text(a: str, b: str) -> None:
    check(trouble.body("v0.5.20", StateError(a, hint=b)), set())
    check(trouble.body("run", KeyError(a)), set())


def test_names_in_our_messages_are_code() -> None:
    assert prose("`is_cuda` is not bound in `f`, says *it*") == "`is_cuda` is not bound in `f`, says \\*it\\*"
    assert prose("one ` alone") == "one \\` alone"
    assert prose("`` twice") == "\\`\\` twice"


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_prose_stays_text(text: str) -> None:
    check(f"- x: {prose(text)}", set())


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_escaped_text_can_still_be_read(text: str) -> None:
    """Nothing is lost but blanks: what a reader sees is what was written."""
    seen, html, links = told(GFM.parse(f"x: {escape(text)}"))
    wanted = "".join(visible(text).split())
    assert "".join(seen.replace("\u200b", "").split()).removeprefix("x:") == wanted.replace("\u200b", "")
    assert (html, links) == ([], [])


def test_results_of_other_jobs_are_read_again() -> None:
    from dataclasses import asdict

    one = smoke("a", "FAIL")
    assert smoke_of({"schema": 1, "ok": False, **asdict(one)}) == one
    data = {
        "version": "1+rk.0",
        "ok": True,
        "wheel": {"path": "/x/y/w.whl"},
        "installation": {"findings": [{"kind": "changed", "file": "a.py", "message": "other bytes"}]},
        "imports": [{"module": "a", "error": ""}, {"module": "b", "error": "no"}],
        "tests": [{"patch": "p", "counts": {"passed": 3}, "failed": ["t"]}],
    }
    made = build_of({"builds": [data]})
    assert made == BuildResult(
        True, "1+rk.0", "w.whl", ("changed a.py: other bytes",), (("b", "no"),), (PatchTests("p", 3, 0, ("t",)),)
    )
    for broken in ({}, {"builds": []}, {"builds": [{}]}, {"builds": [{**data, "tests": [3]}]}):
        with pytest.raises((KeyError, TypeError, ValueError)):
            build_of(broken)
