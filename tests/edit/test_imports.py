"""Where our imports go, and whether their names are free."""

from __future__ import annotations

import pytest
from edit_grammar import placed

from rebasekit.edit.blocks import Unplaceable
from rebasekit.edit.imports import already_bound, clash
from rebasekit.edit.source import Source

OURS = "import ours\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", ""),
        ("import a\n", "\nx = 1\n"),
        ("import a\nfrom b import (\n    c,\n    d,  # d\n)  # b\n", "x = 1\n"),
        ("from a import \\\n    b\n", "x = 1\n"),
        ("'''doc'''\n", "\nx = 1\n"),
        ("'''doc\n'''\nfrom __future__ import annotations\n", "x = 1\n"),
        ("import a; import b\n", "x = 1\n"),
        ("import a\n", "import pdb; pdb.set_trace()\n"),
        ("x = 1\nimport a\n", "y = 2\n"),
        ("import a\nx = 1\nimport b\n", "\ndef f():\n    pass\n\nimport c\n"),
        ("import a\n", "if TYPE_CHECKING:\n    import b\n"),
        ("'''doc'''\n", "if TYPE_CHECKING:\n    import b\n"),
        ("", "if TYPE_CHECKING:\n    import b\n"),
        ("", "x = 1\n"),
        ("# licence\n# more\n", "\nx = 1\n"),
        ("#!/bin/sh\n# -*- coding: utf-8 -*-\n", "# about x\nx = 1\n"),
        ("#!/bin/sh\n", "# about x\nx = 1\n"),
        ("", "# about x\nx = 1\n"),
        ("from a import *\n", "x = 1\n"),
    ],
)
def test_behind_the_imports(before: str, after: str) -> None:
    assert placed(before + after, "import", OURS) == before + OURS + after
    crlf = (before + after).replace("\n", "\r\n")
    assert placed(crlf, "import", OURS) == (before + OURS.replace("\n", "\r\n" if crlf else "\n") + after).replace(
        "\r\n", "\n"
    ).replace("\n", "\r\n" if crlf else "\n")


def test_no_final_line_end() -> None:
    assert placed("import a", "import", OURS) == "import a\nimport ours"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("'''doc'''\nfrom __future__ import annotations\n", "import a\n"),
        ("'''doc'''\n", "import a\n"),
        ("# licence\n", "\nimport a\n"),
        ("#!/bin/sh\n", "import a\n"),
    ],
)
def test_future_imports_go_first(before: str, after: str) -> None:
    ours = "from __future__ import division\n"
    assert placed(before + after, "import", ours) == before + ours + after
    with pytest.raises(Unplaceable, match="a hunk of its own"):
        placed(before + after, "import", ours + OURS)


@pytest.mark.parametrize("lines", ["x = 1\n", "import\n", "if x:\n    import a\n"])
def test_imports_only(lines: str) -> None:
    with pytest.raises(Unplaceable, match="import"):
        placed("import a\n", "import", lines)


HEAD = Source(
    "from __future__ import annotations\nimport a.b\nimport a.c\nimport numpy as np\nfrom d import e as f, g\n"
    "from star import *\nfrom .h import i\n\ndef own(): pass\n\nimport late\n"
)


@pytest.mark.parametrize(
    ("lines", "bound", "taken"),
    [
        ("import a.b", True, None),
        ("import a.c, a.b", True, None),
        ("import a.d", False, None),
        ("import a", False, None),
        ("import numpy as np", True, None),
        ("import numpy", False, None),
        ("import other as np", False, "np"),
        ("from other import np", False, "np"),
        ("import np", False, "np"),
        ("from d import g", True, None),
        ("from d import e as f", True, None),
        ("from d import e", False, None),
        ("from other import g", False, "g"),
        ("from d import e as g", False, "g"),
        ("from star import *", True, None),
        ("from more import *", False, None),
        ("from h import i", False, "i"),
        ("from .h import i", True, None),
        ("from x import own", False, "own"),
        ("import late", False, None),
        ("from x import a", False, "a"),
    ],
)
def test_names_that_are_taken(lines: str, bound: bool, taken: str | None) -> None:
    assert already_bound(lines, HEAD) is bound
    said = clash(lines, HEAD)
    assert (said is None) if taken is None else (said is not None and f"`{taken}`" in said)
