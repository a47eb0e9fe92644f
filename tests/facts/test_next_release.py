"""A next release in a cache that has others: what is linked is what a cache of its own would have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rebasekit.facts.database import Database
from rebasekit.facts.gather import gather
from rebasekit.facts.lazy import lazy_facts
from rebasekit.facts.query import Facts, open_facts
from rebasekit.facts.settings import Settings
from rebasekit.facts.source import ListingTree, OverlayTree, blob_id, listing_key

SERVE = Settings(("app.serve",))
Tree = dict[str, str]

MODULES = ("base", "pool", "work", "sub/__init__", "sub/deep", "tests/test_pool")
NAMES = ("Pool", "Paged", "Base", "read", "make")


def tree_of(files: Tree) -> ListingTree:
    data = {path: text.encode() for path, text in files.items()}
    blobs = {blob_id(content): content for content in data.values()}
    listing = {path: blob_id(content) for path, content in data.items()}
    return ListingTree(listing_key(listing), listing, lambda ids: ((blob, blobs[blob]) for blob in ids))


def seen(facts: Facts) -> dict[str, Any]:
    """Everything that linking says, by names instead of numbers."""
    program = facts.program
    names = {scope: f"{facts.path(scope)}:{program.scope(scope).line}" for scope in range(len(program))}
    words = {name for index in range(len(program.paths)) for name in program.file(index).mentions()} | {*facts.names()}
    return {
        "paths": program.paths,
        "unread": facts.unread,
        "defined": {word: [names[d] for d in facts.definitions(word)] for word in words},
        "mentioned": {word: [names[scope] for scope in facts.mentions(word)] for word in words},
        "declared": {word: [names[scope] for scope in facts.declarations(word)] for word in words},
        "bases": {
            names[c]: ([names[b] for b in bases], outside) for c, (bases, outside) in facts.hierarchy.links.items()
        },
        "live": {name: facts.liveness(scope) for scope, name in names.items()},
        "chains": {name: [(names[s], line) for s, line in facts.chain(scope)] for scope, name in names.items()},
    }


IMPORTS = (
    "from app.{module} import {name}", "from app.{module} import *", "import app.{module} as {name}",
    "from app.{module} import {name} as Paged",
)  # fmt: skip
STATEMENTS = (
    "class {name}({other}):\n    def read(self):\n        return self.make()",
    "class {name}:\n    x = {other}",
    "def {name}(x={other}):\n    return {other}()",
    "{name} = {other}",
    "TABLE = {{'a': {name}}}\nTABLE['a']()",
    "if __name__ == '__main__':\n    {name}().read()",
    "load('app.pool.{name}')",
)


@st.composite
def sources(draw: st.DrawFn) -> str:
    """A module that imports, inherits, defines, calls and hands on a few names that all modules share."""
    some = draw(st.lists(st.sampled_from(IMPORTS), max_size=4)) + draw(
        st.lists(st.sampled_from(STATEMENTS), max_size=3)
    )
    lines = []
    for form in some:
        module = draw(st.sampled_from(MODULES)).removesuffix("/__init__").replace("/", ".")
        name, other = draw(st.sampled_from(NAMES)), draw(st.sampled_from(NAMES))
        lines.append(form.format(module=module, name=name, other=other))
    return "\n".join(lines) + draw(st.sampled_from(["\n", "", "\n("]))


trees = st.dictionaries(st.sampled_from([f"app/{m}.py" for m in MODULES]), sources(), max_size=len(MODULES))


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(trees, sources()), min_size=2, max_size=4))
def test_a_release_is_linked_as_if_it_were_the_first(
    tmp_path_factory: pytest.TempPathFactory, releases: list[tuple[Tree, str]]
) -> None:
    folder = tmp_path_factory.mktemp("caches")
    for number, (files, serve) in enumerate(releases):
        tree = tree_of({"app/serve.py": serve, **files})
        together = open_facts(folder / "shared", tree, SERVE)
        alone = open_facts(folder / str(number), tree, SERVE)
        assert seen(together) == seen(alone)
        assert seen(lazy_facts(folder / "shared", tree, SERVE)) == seen(alone)
        together.close()
        alone.close()


BEFORE = {
    "app/serve.py": "from app.work import run\nrun()\n",
    "app/base.py": "class Base:\n  def read(self):\n    return self.make()\n  def make(self):\n    return 1\n",
    "app/pool.py": "from app.base import Base\nclass Pool(Base):\n    def make(self):\n        return 2\n",
    "app/work.py": "from app.pool import Pool\ndef run():\n    return Pool().read()\n",
    "app/old.py": "from app.pool import Pool\nPool()\n",
}
EDITS: dict[str, dict[str, str | None]] = {
    "a file is renamed": {
        "app/pool.py": None, "app/pools.py": BEFORE["app/pool.py"],
        "app/work.py": "from app.pools import Pool as P\nP()\n",
    },
    "a class moves": {
        "app/pool.py": "from app.base import Pool\n",
        "app/base.py": BEFORE["app/base.py"] + "class Pool(Base):\n  def make(self):\n    return 3\n",
    },
    "a base changes": {"app/pool.py": "class Base: ...\nclass Pool(Base):\n    def make(self):\n        return 2\n"},
    "a file goes": {"app/old.py": None},
    "a star import comes": {"app/work.py": "from app.pool import *\ndef run():\n    return Pool().read()\n"},
    "a package hides a module": {"app/pool/__init__.py": "from app.base import Base as Pool\n"},
    "a file cannot be read": {"app/base.py": "class Base(\n"},
    "an entry calls less": {"app/serve.py": "import app.work\n"},
}  # fmt: skip


@pytest.mark.parametrize("edit", EDITS)
def test_nothing_of_the_release_before_is_left(tmp_path: Path, edit: str) -> None:
    base = tree_of(BEFORE)
    before = seen(open_facts(tmp_path / "shared", base, SERVE))
    changes = {path: None if text is None else text.encode() for path, text in EDITS[edit].items()}
    changed = OverlayTree(base, changes)
    after = seen(open_facts(tmp_path / "shared", changed, SERVE))
    assert after == seen(open_facts(tmp_path / "own", changed, SERVE))
    assert after != before
    assert seen(open_facts(tmp_path / "shared", base, SERVE)) == before


def test_a_next_release_reads_only_its_new_files(tmp_path: Path) -> None:
    database = Database(tmp_path)
    assert gather(database, tree_of(BEFORE)) == len(BEFORE)
    for edit in EDITS.values():
        changed = OverlayTree(tree_of(BEFORE), {p: None if t is None else t.encode() for p, t in edit.items()})
        new = {blob_id(text.encode()) for text in edit.values() if text is not None}
        fresh = len(database.missing(new))
        assert gather(database, changed) == fresh
        assert gather(database, changed) == 0


def test_an_entry_that_cannot_be_read_starts_nothing(tmp_path: Path) -> None:
    tree = tree_of({"app/serve.py": "(", "app/zero.py": "class Pool: ...\nPool()\n", "app/last/__init__.py": "("})
    entries = ("app.serve", "app.last")
    facts = open_facts(tmp_path, tree, Settings(entries))
    assert set(facts.unread) == {"app/serve.py", "app/last/__init__.py"}
    assert [facts.liveness(scope) for scope in range(len(facts.program))] == ["dead", "dead"]


def test_a_string_that_names_an_unread_module_starts_no_other(tmp_path: Path) -> None:
    files = {"app/serve.py": "load('app.bad')\n", "app/bad.py": "(", "app/next.py": "x = 1\n"}
    facts = open_facts(tmp_path, tree_of(files), SERVE)
    live = {facts.path(scope): facts.liveness(scope) for scope in range(len(facts.program))}
    assert live == {"app/serve.py": "serving", "app/next.py": "dead"}
