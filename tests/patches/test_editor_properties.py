"""Edits of generated patches: what is written reads back, and every byte that is not named stays."""

from __future__ import annotations

import random
import shutil
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import tomlkit
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rebasekit.model.hunk import Form, Hunk, Patch, Pin, Place
from rebasekit.patches import Editor, load_patch, series_digest
from rebasekit.patches.compose import HUNK, patch_text
from rebasekit.patches.document import Document
from rebasekit.patches.form import AT_ALLOWED, AT_NEEDED, UNSCOPED
from rebasekit.patches.load import load_series
from rebasekit.patches.render import render

# ---- values ----

words = st.text("abz_", min_size=1, max_size=6)
lines_of = st.text(st.sampled_from("ab'\"\\#[]{}=$.\t \né🙂"), max_size=40)
prose = st.text(st.sampled_from("ab'\"\\#[]={}\t \né🙂"), max_size=40).map(lambda text: "w" + text)
texts = st.text(st.characters(codec="utf-8"), max_size=60)
names = st.lists(st.from_regex(r"[a-z0-9][a-z0-9_-]{0,5}", fullmatch=True), min_size=1, max_size=4, unique=True)
digests = st.text("0123456789abcdef", min_size=1, max_size=16)
RANGES = ("<v0.5", ">=v0.5,<v1", ">=v1,<=v2", "==v3", ">v4,<v5.1", ">=v6")


@st.composite
def pins(draw: st.DrawFn) -> Pin | None:
    if draw(st.booleans()):
        return None
    optional = st.none() | words
    return Pin("v" + draw(st.sampled_from(["1", "0.5.19"])), draw(digests), draw(st.just("") | digests),
               draw(st.none() | st.integers(0, 9)), draw(optional), draw(st.none() | st.just("") | words))  # fmt: skip


@st.composite
def forms(draw: st.DrawFn, number: int, tags: str | None) -> Form:
    place = draw(st.sampled_from(list(Place)))
    at = ""
    if place in AT_NEEDED or (place in AT_ALLOWED and draw(st.booleans())):
        at = draw(st.sampled_from(["x = $X", 'if $X == "a\\\\": ...', "for a in b:\n    ...\n", "f('x', ...)"]))
    lines = "" if place is Place.DELETE else "x" + draw(lines_of)
    keep = draw(st.booleans())
    if keep and lines:
        lines += "\r\n"
    has_body = place is not Place.DELETE and draw(st.booleans())
    return Form(
        file=draw(words) + ".py",
        scope="" if place in UNSCOPED else draw(st.sampled_from(["", "f", "A.b[@b.setter].c", "g[if x.y == 'a']"])),
        place=place,
        at=at,
        count=draw(st.integers(1, 3)) if at else 1,
        lines=lines,
        body=f"b{number}.py" if has_body else None,
        to=draw(st.just("") | words),
        keep_newlines=keep,
        mode=draw(st.sampled_from(["", "executable"])) if place is Place.NEW_FILE else "",
        uses=tuple(draw(st.lists(words, max_size=3, unique=True))),
        needs=tuple(draw(st.lists(words, max_size=2, unique=True))),
        relies=tuple(draw(st.lists(words.map(lambda w: f'default {w} == "x"'), max_size=2, unique=True))),
        tags=tags,
        pin=draw(pins()),
    )


@st.composite
def patches(draw: st.DrawFn, name: str = "x") -> Patch:
    hunks = []
    for number, ident in enumerate(draw(names)):
        ranges = draw(st.lists(st.sampled_from(RANGES), max_size=3, unique=True))
        base = draw(forms(number * 10, draw(st.none() | st.just(">=v0.1"))))
        variants = [draw(forms(number * 10 + 1 + n, tags)) for n, tags in enumerate(ranges)]
        hunks.append(Hunk(name, ident, (base, *variants), draw(st.just("") | prose), draw(st.just("") | prose)))
    forwarded = draw(st.sampled_from(["no", "not-needed", "https://example.org/1"]))
    return Patch(name, "title", draw(prose), draw(prose), draw(st.just("") | prose), forwarded, (), tuple(hunks))


# ---- surroundings ----


def decorated(text: str, seed: int) -> str:
    """The same TOML with comments, blank lines and spaces that a person might have put there."""
    generator = random.Random(seed)
    out: list[str] = []
    document = Document(text)
    starts = {entry.start for section in document.sections for entry in section.entries}
    starts |= {section.start for section in document.sections[1:]}
    ends = {entry.value_end for section in document.sections for entry in section.entries}
    for position, char in enumerate(text + "\n"):
        if position in starts and generator.random() < 0.3:
            out.append(generator.choice(["# a [[hunk]] = '''remark\n", "\n", "\n# apart\n\n", "  "]))
        if position in ends and generator.random() < 0.3:
            out.append(generator.choice(["  # after", "   ", "#\t'''"]))
        out.append(char)
    return "".join(out)[:-1]


@contextmanager
def patchset(patch: Patch, seed: int | None = None) -> Iterator[Path]:
    root = Path(tempfile.mkdtemp())
    try:
        folder = root / "patchset" / patch.name
        folder.mkdir(parents=True)
        text = patch_text(patch)
        text = text if seed is None else decorated(text, seed)
        (folder / "patch.toml").write_bytes(text.encode())
        series = f'base = "v1"\npatches = ["{patch.name}"]\n[upstream]\nkind = "pypi"\npackage = "p"\n'
        (root / "patchset/series.toml").write_text(series)
        for form in (form for hunk in patch.hunks for form in hunk.forms):
            if form.body is not None:
                (folder / form.body).write_bytes(form.lines.encode())
        yield root
    finally:
        shutil.rmtree(root)


def read(root: Path) -> str:
    return (root / "patchset/x/patch.toml").read_bytes().decode()


def remarks(text: str) -> list[str]:
    """Comments and blank-free decoration lines, in order."""
    found = []
    document = Document(text)
    values = [(e.start, e.value_end) for section in document.sections for e in section.entries]
    outside, position = "", 0
    for start, end in values:
        outside += text[position:start] + "\n"
        position = end
    for line in (outside + text[position:]).splitlines():
        if "#" in line and not line.lstrip().startswith("["):
            found.append(line.strip())
    return found


property_test = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
seeds = st.integers(0, 2**32)


@given(texts | lines_of)
@settings(max_examples=300, deadline=None)
def test_any_text_can_be_written(text: str) -> None:
    value = render(text)
    assert tomllib.loads(f"x = {value}")["x"] == text
    assert tomllib.loads(f"x = {render({'a': text, text: [text]})}")["x"] == {"a": text} | {text: [text]}
    assert str(tomlkit.parse(f"x = {value}")["x"]) == text
    section = Document(f"a = {value} # [b]\n[c]\nd = {{ e = {render(['#', text])} }}\n").sections
    assert [entry.key for part in section for entry in part.entries] == [("a",), ("d",)]


@given(patches(), seeds)
@property_test
def test_a_patch_reads_back(patch: Patch, seed: int) -> None:
    with patchset(patch) as root:
        assert load_patch(root / "patchset/x") == patch
    with patchset(patch, seed) as root:
        assert load_patch(root / "patchset/x") == patch
        assert len(series_digest(load_series(root / "patchset"))) == 64


@given(patches(), seeds)
@property_test
def test_replacing_a_patch_by_itself_changes_no_byte(patch: Patch, seed: int) -> None:
    with patchset(patch, seed) as root, Editor(root) as edit:
        before = read(root)
        edit.replace_patch(patch)
        edit.commit()
        assert read(root) == before


@given(patches(), seeds, st.data())
@property_test
def test_set_pin_changes_only_the_pin(patch: Patch, seed: int, data: st.DataObject) -> None:
    hunk = data.draw(st.sampled_from(patch.hunks))
    index = data.draw(st.integers(0, len(hunk.forms) - 1))
    pin = data.draw(pins())
    with patchset(patch, seed) as root, Editor(root) as edit:
        before = read(root)
        edit.set_pin(hunk, index, pin)
        edit.commit()
        after = read(root)
        wanted = hunk.with_form(index, replace(hunk.forms[index], pin=pin))
        assert load_patch(root / "patchset/x").hunks == tuple(wanted if h.id == hunk.id else h for h in patch.hunks)
        _only_one_stretch_differs(before, after, render_pin(hunk.forms[index].pin), render_pin(pin))


def render_pin(pin: Pin | None) -> int:
    return 0 if pin is None else 400


def _only_one_stretch_differs(before: str, after: str, longest_old: int, longest_new: int) -> None:
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    assert len(before) - head - tail <= longest_old and len(after) - head - tail <= longest_new


@given(patches(), seeds, st.data())
@property_test
def test_set_decision_changes_only_the_decision(patch: Patch, seed: int, data: st.DataObject) -> None:
    hunk = data.draw(st.sampled_from(patch.hunks))
    text = data.draw(st.just("") | prose)
    with patchset(patch, seed) as root, Editor(root) as edit:
        before = read(root)
        edit.set_decision(hunk, text)
        edit.commit()
        after = read(root)
        wanted = replace(hunk, decision=text)
        assert load_patch(root / "patchset/x").hunks == tuple(wanted if h.id == hunk.id else h for h in patch.hunks)
        _only_one_stretch_differs(before, after, 400 if hunk.decision else 0, 400 if text else 0)
        if bool(text) == bool(hunk.decision):
            assert remarks(after) == remarks(before)


@given(patches(), seeds, st.data())
@property_test
def test_removing_a_hunk_leaves_the_others_as_they_are(patch: Patch, seed: int, data: st.DataObject) -> None:
    hunk = data.draw(st.sampled_from(patch.hunks))
    with patchset(patch, seed) as root, Editor(root) as edit:
        before = read(root)
        edit.remove_hunk(hunk)
        edit.commit()
        after = read(root)
        assert load_patch(root / "patchset/x").hunks == tuple(h for h in patch.hunks if h.id != hunk.id)
        assert _is_cut(before, after)


def _is_cut(before: str, after: str) -> bool:
    """Whether `after` is `before` with one stretch (and blank lines at the end of the file) taken out."""
    head = 0
    while head < len(after) and before[head] == after[head]:
        head += 1
    rest = after[head:].rstrip("\n")
    return before.rstrip("\n").endswith(rest)


@given(patches(), patches(), seeds)
@property_test
def test_a_patch_can_become_any_other(old: Patch, new: Patch, seed: int) -> None:
    with patchset(old, seed) as root, Editor(root) as edit:
        edit.replace_patch(new)
        edit.commit()
        assert load_patch(root / "patchset/x") == new
        unused = {path.name for path in (root / "patchset/x").iterdir()} - {"patch.toml"}
        assert unused == {form.body for hunk in new.hunks for form in hunk.forms if form.body}


@given(patches(), seeds, st.data())
@property_test
def test_forms_and_variants(patch: Patch, seed: int, data: st.DataObject) -> None:
    hunk = data.draw(st.sampled_from(patch.hunks))
    form = replace(data.draw(forms(99, None)), tags="==v5.6")
    with patchset(patch, seed) as root, Editor(root) as edit:
        edit.add_variant(hunk, replace(form, tags="==v5.5"))
        edit.replace_form(hunk, len(hunk.forms), form)
        edit.commit()
        found = next(each for each in load_patch(root / "patchset/x").hunks if each.id == hunk.id)
        assert found.forms == (*hunk.forms, form)


def test_the_order_of_keys_is_complete() -> None:
    fields = set(Form.__dataclass_fields__) - {"keep_newlines"} | {"newlines", "id", "why", "decision", "idle"}
    assert set(HUNK) == fields
