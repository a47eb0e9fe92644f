"""The cache: read once, shared, rebuilt when damaged, never trusted blindly."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from rebasekit.errors import StateError
from rebasekit.facts.database import Database
from rebasekit.facts.gather import gather
from rebasekit.facts.query import open_facts
from rebasekit.facts.settings import Settings
from rebasekit.facts.source import DirectoryTree, ListingTree, OverlayTree, blob_id

SETTINGS = Settings(("app.serve",))
FILES = {"app/serve.py": b"from app.pool import Pool\nPool()\n", "app/pool.py": b"class Pool:\n    pass\n"}


def write(root: Path, files: dict[str, bytes]) -> DirectoryTree:
    for path, data in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    return DirectoryTree(root)


def test_blob_id_is_gits() -> None:
    assert blob_id(b"") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    assert blob_id(b"what is up, doc?") == "bd9dbf5aae1a3862dd1526723246b20206e5fc37"


def test_only_new_files_are_read(tmp_path: Path) -> None:
    database = Database(tmp_path / "cache")
    assert gather(database, write(tmp_path / "v1", FILES)) == 2
    assert gather(database, write(tmp_path / "v2", {**FILES, "app/serve.py": b"x = 1\n"})) == 1
    assert gather(database, write(tmp_path / "v2", FILES)) == 0


def test_progress_counts_files(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    gather(Database(tmp_path / "cache"), write(tmp_path / "v1", FILES), lambda done, total: seen.append((done, total)))
    assert seen == [(2, 2)]


def test_many_files_on_two_processes(tmp_path: Path) -> None:
    files = {f"app/m{n}.py": f"class C{n}:\n    pass\n".encode() for n in range(150)}
    database = Database(tmp_path / "cache")
    assert gather(database, write(tmp_path / "v1", files), workers=2) == 150
    assert database.missing(blob_id(data) for data in files.values()) == []


def test_listing_tree_reads_blobs_in_one_go_and_overlay_hides_them(tmp_path: Path) -> None:
    asked: list[list[str]] = []
    blobs = {blob_id(data): data for data in FILES.values()}

    def read_many(ids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        asked.append(list(ids))
        yield from ((blob, blobs[blob]) for blob in asked[-1])

    listing = {path: blob_id(data) for path, data in FILES.items()} | {"app/README.md": "0" * 40}
    base = ListingTree("tree-1", lambda: listing, read_many)
    facts = open_facts(tmp_path / "cache", base, SETTINGS)
    assert len(asked) == 1
    assert facts.program.paths == ["app/pool.py", "app/serve.py"]
    patched = OverlayTree(
        base, {"app/pool.py": b"class Pool:\n    x = 1\n", "app/new.py": b"class New: ...\n", "a.c": b""}
    )
    assert patched.key != base.key
    facts = open_facts(tmp_path / "cache", patched, SETTINGS)
    assert len(asked) == 1
    assert facts.program.paths == ["app/new.py", "app/pool.py", "app/serve.py"]
    assert facts.definitions("New")
    assert OverlayTree(base, {}).key == base.key
    gone = OverlayTree(base, {"app/pool.py": None})
    assert list(gone.listing()) == ["app/serve.py"]


def test_linked_tree_needs_no_listing(tmp_path: Path) -> None:
    open_facts(tmp_path / "cache", write(tmp_path / "v1", FILES), SETTINGS)
    key = DirectoryTree(tmp_path / "v1").key

    def never() -> dict[str, str]:
        raise AssertionError("listed")

    facts = open_facts(tmp_path / "cache", ListingTree(key, never, lambda ids: iter(())), SETTINGS)
    assert [facts.liveness(d) for d in facts.definitions("Pool")] == ["serving"]


@pytest.mark.parametrize("damage", [b"not a database", b"", b"SQLite format 3\0" + b"\xff" * 4000])
def test_damaged_file_is_rebuilt(damage: bytes, tmp_path: Path) -> None:
    tree = write(tmp_path / "v1", FILES)
    open_facts(tmp_path / "cache", tree, SETTINGS).close()
    for file in (tmp_path / "cache").iterdir():
        file.unlink() if file.name != "facts.sqlite" else file.write_bytes(damage)
    facts = open_facts(tmp_path / "cache", tree, SETTINGS)
    assert facts.definitions("Pool")


def test_other_schema_is_rebuilt(tmp_path: Path) -> None:
    tree = write(tmp_path / "v1", FILES)
    open_facts(tmp_path / "cache", tree, SETTINGS)
    with sqlite3.connect(tmp_path / "cache/facts.sqlite") as connection:
        connection.execute("update meta set schema = 'older'")
    connection.close()
    assert open_facts(tmp_path / "cache", tree, SETTINGS).definitions("Pool")


@pytest.mark.parametrize("half", ["outline", "rest"])
def test_damaged_rows_are_read_again(half: str, tmp_path: Path) -> None:
    tree = write(tmp_path / "v1", FILES)
    open_facts(tmp_path / "cache", tree, SETTINGS)
    with sqlite3.connect(tmp_path / "cache/facts.sqlite") as connection:
        connection.execute(f"update blob set {half} = x'00'")
        connection.execute("delete from link")
    connection.close()
    facts = open_facts(tmp_path / "cache", tree, SETTINGS)
    assert not facts.unread
    (pool,) = facts.definitions("Pool")
    assert len(facts.program.scope(pool).digest) == 20


@pytest.mark.parametrize(("half", "named"), [("outline", False), ("rest", True)])
def test_a_row_damaged_since_it_was_linked_is_no_empty_file(half: str, named: bool, tmp_path: Path) -> None:
    tree = write(tmp_path / "v1", FILES)
    open_facts(tmp_path / "cache", tree, SETTINGS).close()
    with sqlite3.connect(tmp_path / "cache/facts.sqlite") as connection:
        connection.execute(f"update blob set {half} = x'00'")
    connection.close()
    facts = open_facts(tmp_path / "cache", tree, SETTINGS)
    (pool,) = facts.definitions("Pool")
    if named:  # what most questions read stands in the outline
        assert facts.dotted(pool) == "app.pool.Pool"
        assert facts.program.reads(0) == ((), ())
    with pytest.raises(StateError, match="are damaged"):
        _ = facts.program.scope(pool).digest


OPEN = """
import sys, time
from pathlib import Path
from rebasekit.facts.database import Database
for number in range(50):
    time.sleep(max(0.0, float(sys.argv[2]) + 0.03 * number - time.time()))
    Database(Path(sys.argv[1], str(number))).close()
"""
FILL = """
import sys
from pathlib import Path
from rebasekit.facts.query import open_facts
from rebasekit.facts.settings import Settings
from rebasekit.facts.source import DirectoryTree
facts = open_facts(Path(sys.argv[1]), DirectoryTree(Path(sys.argv[2])), Settings(("app.serve",)))
print(len(facts.definitions("Pool")))
"""


def at_once(script: str, *arguments: str) -> list[str]:
    """What four processes print that run `script` side by side. Never forks of this one: its threads and open databases
    would come along.
    """
    command = [sys.executable, "-c", script, *arguments]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    printed = [process.communicate(timeout=120)[0].strip() for process in running]
    assert [process.returncode for process in running] == [0] * 4
    return printed


def test_several_processes_make_the_database_at_once(tmp_path: Path) -> None:
    """In step by the clock, round after round: one time in twenty would go wrong."""
    at_once(OPEN, str(tmp_path), str(time.time() + 2.0))


def test_several_processes_fill_one_cache(tmp_path: Path) -> None:
    write(tmp_path / "v1", {**FILES, **{f"app/m{n}.py": b"x = %d\n" % n for n in range(30)}})
    assert at_once(FILL, str(tmp_path / "cache"), str(tmp_path / "v1")) == ["1"] * 4


def test_unread_files_are_named_with_the_reason(tmp_path: Path) -> None:
    tree = write(tmp_path / "v1", {**FILES, "app/bad.py": b"Pool(\n"})
    facts = open_facts(tmp_path / "cache", tree, SETTINGS)
    assert list(facts.unread) == ["app/bad.py"]
    assert facts.unread["app/bad.py"].startswith("syntax: ")
    assert facts.unread_mentioning({"Pool"}) == ["app/bad.py"]
    assert facts.unread_mentioning({"Other"}) == []
