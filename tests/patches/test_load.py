"""What a correct patchset reads as."""

from __future__ import annotations

from pathlib import Path

from rebasekit.model.hunk import Form, Hunk, Patch, Pin, Place, UpstreamSource
from rebasekit.model.tag import Tag
from rebasekit.patches import load_patch, load_series
from rebasekit.patches.load import load

FULL = r"""
title   = "int2"           # a comment
why     = '''
several
lines'''
origin  = "https://example.org/pull/1"
forwarded = "https://example.org/pull/2"
removal = "when upstream ships it"
depends = ["kernels"]

[[hunk]]
id     = "dtype-name"
file   = "pkg/a.py"
scope  = "configure[@x.setter].inner"
place  = "before"
at     = 'if $X == "fp8": ...'
count  = 2
body   = "dtype_name.py"
to     = "name"
uses   = ["pkg.a.b"]
needs  = ["constructed pkg.A"]
relies = ['default X == "python"']
decision = "here"
why    = "so"
pin    = { tag = "v0.5.19", scope = "aa", anchor = "bb", depth = 0, file = "pkg/b.py", scope_name = "" }

[[hunk.variant]]
tags = ">=v0.5.20,<v0.5.21"
file = "pkg/c.py"

[[hunk.variant]]
tags = ">=v0.5.21"
place = "delete"
pin = { tag = "v0.5.21", scope = "cc" }

[[hunk]]
id = "kernel"
file = "pkg/k.py"
place = "new-file"
mode = "executable"
body = "../../kernels/int2/layout.py"
"""
SERIES = """
base = "0.5.19"
patches = ["kernels", "x"]
entries = ["sglang.launch_server", "a.b:main"]
requires-python = ">=3.10"
[upstream]
kind = "git"
url = "https://github.com/sgl-project/sglang"
prefix = "python/"
[deployment]
model = "hybrid"
cards = 1
flags = ["--a"]
[deployment.nested]
x = true
[environment]
torch = "2.9.1"
"""


def test_everything_a_patch_can_say(make, header: str) -> None:
    patchset = make(
        FULL,
        SERIES,
        {
            "patchset/kernels/patch.toml": header,
            "patchset/x/dtype_name.py": "x = 1\n",
            "kernels/int2/layout.py": "",
        },
    )
    series = load_series(patchset)
    assert series.base == Tag("v0.5.19")
    assert series.source == UpstreamSource("git", "", "https://github.com/sgl-project/sglang", "python/")
    assert series.entries == ("sglang.launch_server", "a.b:main")
    assert series.requires_python == ">=3.10"
    assert series.deployment == {"model": "hybrid", "cards": 1, "flags": ["--a"], "nested": {"x": True}}
    assert series.environment == {"torch": "2.9.1"}
    assert [patch.name for patch in series.patches] == ["kernels", "x"]
    base = Form(
        file="pkg/a.py",
        scope="configure[@x.setter].inner",
        place=Place.BEFORE,
        at='if $X == "fp8": ...',
        count=2,
        lines="x = 1\n",
        body="dtype_name.py",
        to="name",
        uses=("pkg.a.b",),
        needs=("constructed pkg.A",),
        relies=('default X == "python"',),
        pin=Pin("v0.5.19", "aa", "bb", 0, "pkg/b.py", ""),
    )
    first, second = series.patches[1].hunks
    assert first == Hunk(
        "x",
        "dtype-name",
        (
            base,
            Form(**{**base.__dict__, "file": "pkg/c.py", "tags": ">=v0.5.20,<v0.5.21", "pin": None}),
            Form(
                **{
                    **base.__dict__,
                    "place": Place.DELETE,
                    "lines": "",
                    "body": None,
                    "tags": ">=v0.5.21",
                    "pin": Pin("v0.5.21", "cc"),
                }
            ),
        ),
        "here",
        "so",
    )
    assert second.forms[0] == Form(
        "pkg/k.py", "", Place.NEW_FILE, body="../../kernels/int2/layout.py", mode="executable"
    )
    patch = load_patch(patchset / "x")
    assert patch == series.patches[1]
    assert (patch.origin, patch.forwarded) == ("https://example.org/pull/1", "https://example.org/pull/2")
    assert patch.why == "several\nlines" and patch.depends == ("kernels",)


def test_lines_are_exactly_the_body(make, header: str) -> None:
    body = "# première\n\n    x = 1   \n\n\n".lstrip()
    hunk = '[[hunk]]\nid = "a"\nfile = "a.py"\nplace = "last"\nbody = "b.py"\n'
    assert load_patch(make(header + hunk, files={"patchset/x/b.py": body}) / "x").hunks[0].forms[0].lines == body


def test_kept_newlines(make, header: str) -> None:
    hunk = '[[hunk]]\nid = "a"\nfile = "a.txt"\nplace = "new-file"\nbody = "b.txt"\nnewlines = "keep"\n'
    form = load_patch(make(header + hunk, files={"patchset/x/b.txt": b"a\r\nb\r\n"}) / "x").hunks[0].forms[0]
    assert form.keep_newlines and form.lines == "a\r\nb\r\n"


def test_a_variant_changes_to_a_place_where_the_anchor_means_nothing(make, header: str) -> None:
    hunk = (
        '[[hunk]]\nid = "a"\nfile = "a.py"\nscope = "f"\nplace = "before"\nat = "x"\ncount = 2\nlines = "y"\n'
        '[[hunk.variant]]\ntags = ">=v1"\nplace = "new-file"\nfile = "b.py"\n'
    )
    variant = load_patch(make(header + hunk) / "x").hunks[0].forms[1]
    assert (variant.at, variant.count, variant.scope, variant.lines) == ("", 1, "", "y")


def test_warnings_for_what_nothing_uses(make, header: str, hunk: str) -> None:
    extra = dict.fromkeys(("old.py", "tests/t.py", "docs/a.txt", "README.md", ".gitattributes", "sub/b.py"), "")
    files = {f"patchset/x/{name}": data for name, data in extra.items()} | {"patchset/idle/patch.toml": header}
    loaded = load(make(header + hunk, files=files))
    assert [str(warning) for warning in loaded.warnings] == [
        "patchset/x/patch.toml: no hunk uses `old.py`",
        "patchset/x/patch.toml: no hunk uses `sub/b.py`",
        "patchset/series.toml: patches: the folder `idle` is not in the list, so it is not applied",
    ]


def test_a_relative_path_and_a_linked_patchset(make, tmp_path: Path, monkeypatch) -> None:
    patchset = make()
    monkeypatch.chdir(tmp_path)
    assert load_series(Path("patchset")).patches[0].name == "x"
    link = tmp_path / "elsewhere"
    link.symlink_to(patchset)
    assert load_series(link) == load_series(patchset)


def test_a_read_only_checkout_can_be_read(make) -> None:
    patchset = make()
    patchset.parent.chmod(0o555)
    try:
        assert load_series(patchset).patches
    finally:
        patchset.parent.chmod(0o755)


def test_an_empty_series_is_fine(make, series: str) -> None:
    assert load_series(make(series=series.replace('["x"]', "[]"))).patches == ()


def test_the_shipped_series_reads(tmp_path: Path) -> None:
    shipped = Path(__file__).parents[2] / "patchset"
    folders = sorted(path.parent for path in shipped.glob("*/patch.toml"))
    assert all(isinstance(load_patch(folder), Patch) for folder in folders)
