"""The report as a page: what it says, that nothing of others' text gets out of its place, and how it is used."""

from __future__ import annotations

import base64
import hashlib
import html
import os
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_verdicts import FULL, finding, placement, verdict

from rebasekit.checks.churn import FileChurn, ScopeChurn
from rebasekit.checks.reach import Site, Step
from rebasekit.model.placement import Outcome
from rebasekit.patches.maps import MapEntry, TagMap
from rebasekit.report.page import render
from rebasekit.report.report import Report
from rebasekit.steps.background import Background, Way

VOID = {"meta", "br", "input", "img"}
HOSTILE = (
    "</script></style><script>window.bad=1</script><img src=x onerror='window.bad=1'> & \"quoted\" {{ 7*7 }} \x1b[31m"
)

ENTRY = MapEntry("p", "one", Outcome.RELOCATED, "pkg/a.py", "f", 12, 2, "anchor and line merge")
MAPS = (
    TagMap("v0.5.19", "v0.5.19", "d", "t", (ENTRY, MapEntry("p", "gone", Outcome.CARRIED, "pkg/a.py", "f", 3, 1))),
    TagMap("v0.5.20", "v0.5.19", "d", "t", (ENTRY, MapEntry("p", "three", Outcome.CONFLICT, "pkg/a.py", "f"))),
)
SITE = Site("pkg/main.py", 9, "run", "direct", ("args.fast",), "serving", chain=(Step("pkg/main.py", 2, "main"),))
BACKGROUND = Background(
    MAPS,
    (FileChurn("pkg/a.py", 30, 10, (ScopeChurn("f", 20, 0), ScopeChurn("g", 10, 10))),),
    {"p/one": Way("pkg.a.f", "live", ("called once",), SITE)},
)


class Checker(HTMLParser):
    """Tags must nest; collects attributes and the text outside style and script."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}> at {self.getpos()}"

    def handle_data(self, data):
        if not {"style", "script"} & set(self.open):
            self.text.append(data)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())


def full_page() -> str:
    return render(Report.of(FULL), BACKGROUND, link="https://example.invalid/{tag}/{file}")


def test_it_says_what_the_report_says():
    page = Checker(full_page())
    for each in FULL.placements:
        assert each.name in page.words
    for text in ("both changed the same line", "cannot parse", "2 matches", "`is_cuda` is not bound here"):
        assert text in page.words
    for command in Report.of(FULL).next:
        assert command in page.words
    assert "2 hunks to place and 3 findings to decide" in page.words
    assert {value for tag, name, value in page.attributes if name == "data-words"} == {
        "carried|unbound", "shifted", "conflict", "ambiguous"
    }  # fmt: skip


def test_conflicts_show_both_sides_and_upstreams_change():
    page = full_page()
    for line in ("-    a = 1", "+    a = 2", "+    a = 3", "&lt;&lt;&lt;&lt;&lt;&lt;&lt; ours"):
        assert line in page
    assert '<span class="added">+    a = 3</span>' in page
    assert '<span class="marker">=======</span>' in page


def test_background_chain_churn_and_timeline():
    page = Checker(full_page())
    assert re.search(
        r"Reach: live pkg\.a\.f called once main pkg/main\.py:2 run pkg/main\.py:9 direct, serving", page.words
    )
    assert "if args.fast" in page.words
    assert "+30" in page.words and "−10" in page.words
    assert ("rect", "width", "75.0") in page.attributes and ("rect", "width", "25.0") in page.attributes
    titles = [value for tag, name, value in page.attributes if (tag, name) == ("td", "title")]
    assert titles.count("v0.5.19: relocated, pkg/a.py:12 in f (anchor and line merge)") == 1
    assert "v0.5.20: not in the series" in titles  # the hunk that only the older map knows
    assert "v0.5.20: conflict, pkg/a.py in f" in titles


def test_without_background_or_link():
    page = Checker(render(Report.of(FULL)))
    assert not any(value.startswith("http") for _, name, value in page.attributes if name in ("href", "src"))
    assert not any(name == "id" and value in ("churn", "timeline") for _, name, value in page.attributes)


def test_links_lead_to_the_releases_file():
    links = {value for tag, name, value in Checker(full_page()).attributes if name == "href" and "://" in value}
    assert links == {"https://example.invalid/v0.5.20/pkg/a.py", "https://example.invalid/v0.5.20/pkg/b.py"}


def test_nothing_is_loaded_and_only_its_own_script_runs():
    text = full_page()
    page = Checker(text)
    assert not [a for a in page.attributes if a[1] == "src" or a[1].startswith("on") or a[0] in ("link", "iframe")]
    policy = next(value for _, name, value in page.attributes if name == "content" and "default-src" in value)
    assert policy.startswith("default-src 'none'")
    for tag in ("style", "script"):
        body = re.search(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        assert body is not None
        digest = base64.b64encode(hashlib.sha256(body[1].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_hostile_text_stays_text():
    bad = verdict(
        placement("p/one", Outcome.MISSING, reason=HOSTILE, findings=(finding(HOSTILE, HOSTILE, file=HOSTILE),))
    )
    text = render(Report.of(bad), Background((), (), {"p/one": Way(HOSTILE, HOSTILE, (HOSTILE,))}))
    page = Checker(text)
    assert not [a for a in page.attributes if a[0] == "img" or a[1] == "onerror"]
    assert text.count("<script>") == 1
    assert "{{ 7*7 }}" in page.words and "49" not in page.words
    assert "\x1b" not in text and "\\x1b[31m" in text


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_stays_text(message, reason):
    bad = verdict(placement("p/one", Outcome.MISSING, reason=reason, findings=(finding("unbound", message),)))
    page = Checker(render(Report.of(bad)))
    assert " ".join(re.findall(r"\w+", html.unescape(message), re.ASCII)) in " ".join(
        re.findall(r"\w+", page.words, re.ASCII)
    ) or "\\" in ascii(message)


def test_a_command_writes_the_page(tmp_path):
    from harness import Case, patch_toml, series

    hunk = 'id="one"\nfile="pkg/a.py"\nscope="f"\nplace="first"\nlines="""\nx = 1\n"""\nwhy="w"\n'
    old = "def f():\n    return 1\n"
    upstream = {"v1.0.0": {"pkg/a.py": old}, "v1.1.0": {"pkg/a.py": f"# new\n{old}\n\nf()\n"}}
    link = 'link = "https://example.invalid/{tag}/{file}#L{line}"\n'
    patchset = {"series.toml": series("v1.0.0", patches=["p"], extra=link), "p/patch.toml": patch_toml(hunk)}
    case = Case(tmp_path, upstream, patchset)
    case.write({"upstream-map/vendor.toml": "", "upstream-map/v2-notes.toml": ""})  # somebody else's
    assert case.run("rebase", "v1.0.0", json=False).exit == 0
    result = case.run("rebase", "v1.1.0", "--html", "r.html", json=False)
    assert result.exit == 0, result.stderr
    page = Checker((case.project / "r.html").read_text())
    titles = [value for tag, name, value in page.attributes if (tag, name) == ("td", "title")]
    assert [title.split(",")[0] for title in titles] == ["v1.0.0: carried", "v1.1.0: carried"]
    assert "pkg/a.py +4 −0" in page.words
    links = {value for tag, name, value in page.attributes if name == "href" and "://" in value}
    assert links == {"https://example.invalid/v1.1.0/pkg/a.py#L"}


# --- in a browser ---


@pytest.fixture(scope="module")
def browser():
    """Headless Chromium; skipped where there is none, except where `REBASEKIT_NEED_BROWSER` is set."""
    binary = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if binary is None:
        if os.environ.get("REBASEKIT_NEED_BROWSER"):
            pytest.fail("chromium is not installed: `apt-get install chromium`, or set CHROMIUM")
        pytest.skip("needs chromium (`apt-get install chromium`, or set CHROMIUM)")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=binary, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def opened(browser, tmp_path):
    """Open a page, and see at the end that it raised nothing and asked for nothing."""
    troubles: list[str] = []
    contexts = []

    def open_(text: str, anchor: str = "", **options):
        path = Path(tmp_path, "report.html")
        path.write_text(text, encoding="utf-8")
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda message: troubles.append(message.text))
        page.on(
            "request", lambda request: troubles.append(request.url) if not request.url.startswith("file:") else None
        )
        page.goto(f"{path.as_uri()}{anchor}")
        return page

    yield open_
    for context in contexts:
        context.close()
    assert troubles == []


def names(page) -> list[str]:
    return page.locator(".hunks > li:visible .name").all_inner_texts()


def test_filters(opened):
    page = opened(full_page())
    assert names(page) == ["p/one", "p/two", "p/three", "q/four"]
    page.get_by_label("Patch").select_option("p")
    page.get_by_role("button", name="conflict 1").click()
    assert names(page) == ["p/three"]
    assert page.locator("#shown").inner_text() == "1 of 4 hunks"
    page.get_by_role("button", name="unbound").click()  # kinds add up
    assert names(page) == ["p/one", "p/three"]
    page.get_by_role("button", name="show all").click()
    page.get_by_role("searchbox").fill("Both  line")
    assert names(page) == ["p/three"]
    page.get_by_role("searchbox").fill("nothing has this")
    assert names(page) == [] and page.locator("#none").is_visible()


def test_a_filter_is_in_the_address(opened):
    page = opened(full_page(), "#patch=q&is=ambiguous")
    assert names(page) == ["q/four"]
    page.get_by_role("button", name="show all").click()
    assert "#" not in page.url
    page.get_by_role("button", name="shifted").click()
    assert page.url.endswith("#is=shifted")


def test_the_keyboard_does_everything(opened):
    page = opened(full_page())
    page.keyboard.press("/")
    page.keyboard.type("p/")
    assert names(page) == ["p/one", "p/two", "p/three"]
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("j")
    focused = "document.activeElement.querySelector('.name').textContent"
    assert page.evaluate(focused) == "p/two"
    second = page.locator(".hunks details").nth(1)
    assert second.get_attribute("open") is None
    page.keyboard.press("Enter")
    assert second.get_attribute("open") is not None
    page.keyboard.press("k")
    assert page.evaluate(focused) == "p/one"
    page.keyboard.press("Enter")
    assert page.locator(".hunks details:not([open])").count() == 1
    page.keyboard.press("o")
    assert page.locator(".hunks details:not([open])").count() == 0


def test_what_needs_a_person_is_open_and_first_in_reach(opened):
    page = opened(full_page())
    assert page.locator(".hunks details[open] .name").all_inner_texts() == ["p/one", "p/three", "q/four"]


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_no_width_scrolls_sideways(opened, width):
    page = opened(full_page(), viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_light_and_dark(opened, scheme):
    """WCAG AA: a contrast of 4.5 for everything that has text of its own."""
    page = opened(full_page(), color_scheme=scheme)
    page.locator("#unfold").click()
    worst = page.evaluate(Path(__file__).with_name("contrast.js").read_text())
    assert worst[0] >= 4.5, worst


def test_hostile_text_in_a_browser(opened):
    bad = verdict(
        placement("p/one", Outcome.MISSING, reason=HOSTILE, findings=(finding(HOSTILE, HOSTILE, file=HOSTILE),))
    )
    page = opened(render(Report.of(bad)))
    assert page.evaluate("window.bad") is None
    assert "</script></style><script>window.bad=1</script>" in page.locator(".problems li").first.inner_text()


def test_without_script_it_is_still_a_report(opened):
    page = opened(full_page(), java_script_enabled=False)
    assert names(page) == ["p/one", "p/two", "p/three", "q/four"]
    page.locator("summary", has_text="p/two").click()
    assert page.get_by_text("anchor and merge", exact=True).is_visible()
