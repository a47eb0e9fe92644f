"""Commits are whole: staged, checked against other writers, and never half there, however the process ends."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import random
import resource
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rebasekit.errors import StateError
from rebasekit.patches import Editor, PatchsetProblems, Transaction, load_series, reading, recover
from rebasekit.patches.journal import COMMIT, FOLDER
from rebasekit.patches.lock import locked

STATES = {
    name: {f"patchset/d{number}/f": f"{name}{number}\n" * 50 for number in numbers} | {"upstream-map/v1.toml": name}
    for name, numbers in (("old", range(4)), ("new", range(2, 6)))
}


def put(root: Path, state: dict[str, str]) -> None:
    """Move the root to a state by one transaction."""
    with Transaction(root) as change:
        for path in snapshot(root):
            if path not in state:
                change.delete(path)
        for path, text in state.items():
            change.write(path, text)
        change.commit()


def lay(root: Path, state: dict[str, str]) -> Path:
    """A new root in a state, without the waits that a transaction takes."""
    for path, text in state.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def snapshot(root: Path) -> dict[str, str]:
    """All files below the root, hidden ones included."""
    return {path.relative_to(root).as_posix(): path.read_text() for path in root.rglob("*") if path.is_file()}


def test_write_delete_rename_and_modes(tmp_path: Path) -> None:
    (tmp_path / "patchset/x").mkdir(parents=True)
    for name in ("a", "b", "c"):
        (tmp_path / "patchset/x" / name).write_text(name)
    (tmp_path / "patchset/x/a").chmod(0o640)
    (tmp_path / "patchset/x/c").chmod(0o755)
    with Transaction(tmp_path) as change:
        change.write("patchset/x/a", "new")
        change.delete("patchset/x/b")
        change.rename("patchset/x/c", "patchset/y/z/c")
        change.write("upstream-map/v1.toml", b"\xff\r\n")
        change.write("kernels/k.py", "k", mode=0o755)
        assert change.read("patchset/y/z/c") == b"c" and not change.files.exists("patchset/x/b")
        assert (tmp_path / "patchset/x/a").read_text() == "a"
        change.commit()
    names = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert names == {"patchset/x/a", "patchset/y/z/c", "upstream-map/v1.toml", "kernels/k.py"}
    assert (tmp_path / "upstream-map/v1.toml").read_bytes() == b"\xff\r\n"
    modes = {name: (tmp_path / name).stat().st_mode & 0o777 for name in names}
    assert modes["patchset/x/a"] == 0o640 and modes["patchset/y/z/c"] == modes["kernels/k.py"] == 0o755


def test_nothing_happens_without_commit_or_when_validation_fails(tmp_path: Path) -> None:
    put(tmp_path, STATES["old"])

    def refuse(files: Any) -> None:
        assert files.read("patchset/d0/f") == b"x"
        raise ValueError

    with Transaction(tmp_path) as change:
        change.write("patchset/d0/f", "x")
        with pytest.raises(ValueError):
            change.commit(refuse)
    assert snapshot(tmp_path) == STATES["old"]


def test_emptied_folders_go_and_the_top_stays(tmp_path: Path) -> None:
    put(tmp_path, {"patchset/a/b/c": "x"})
    put(tmp_path, {})
    assert [path.name for path in tmp_path.rglob("*")] == ["patchset"]


def test_an_unchanged_write_touches_nothing(tmp_path: Path) -> None:
    put(tmp_path, STATES["old"])
    before = (tmp_path / "patchset/d0/f").stat().st_ino
    put(tmp_path, STATES["old"])
    assert (tmp_path / "patchset/d0/f").stat().st_ino == before


@pytest.mark.parametrize("late", ["patchset/d0/f", "patchset/d1/f"])
def test_a_change_by_somebody_else_stops_the_commit(tmp_path: Path, late: str) -> None:
    put(tmp_path, STATES["old"])
    with Transaction(tmp_path) as change:
        change.read("patchset/d1/f")  # what a decision was based on counts, not only what is written
        change.write("patchset/d0/f", "ours")
        (tmp_path / late).write_text("theirs")
        with pytest.raises(StateError, match="was changed meanwhile, nothing was written"):
            change.commit()
    assert snapshot(tmp_path) == STATES["old"] | {late: "theirs"}


@pytest.mark.parametrize(
    "path",
    ["../x", "/etc/x", "README.md", "patchset", "src/x", "patchset/../../x", "patchset/.git/x", "patchset/a\0b", ""],
)
def test_paths_that_are_not_ours(tmp_path: Path, path: str) -> None:
    with pytest.raises(StateError, match="cannot write"):
        Transaction(tmp_path).write(path, "x")


@pytest.mark.parametrize("link", ["patchset", "patchset/x", "patchset/x/f"])
def test_links_are_not_followed(tmp_path: Path, link: str) -> None:
    outside = tmp_path / "outside"
    (outside / "x").mkdir(parents=True)
    (outside / "f").write_text("theirs")
    (outside / "x/f").write_text("theirs")
    root = tmp_path / "root"
    (root / link).parent.mkdir(parents=True)
    (root / link).symlink_to(outside if link != "patchset/x/f" else outside / "f")
    with pytest.raises(StateError, match="is a link"):
        Transaction(root).write("patchset/x/f", "ours")
    # The same when the link appears after staging.
    (root / link).unlink()
    with Transaction(root) as change:
        change.write("patchset/x/f", "theirs")
        (root / link).symlink_to(outside if link != "patchset/x/f" else outside / "f")
        with pytest.raises(StateError):
            change.commit()
    assert {path.read_text() for path in outside.rglob("f")} == {"theirs"} and not (root / FOLDER).exists()


def test_a_folder_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "patchset/x").mkdir(parents=True)
    (tmp_path / "patchset/f").write_text("")
    for path in ("patchset/x", "patchset/f/g"):
        with Transaction(tmp_path) as change, pytest.raises(StateError):
            change.write(path, "x")
            change.commit()
    assert not (tmp_path / FOLDER).exists()


def test_a_hostile_journal_writes_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")
    for path in ("README.md", "../x", ".git/config", "patchset/../README.md"):
        (tmp_path / FOLDER).mkdir()
        (tmp_path / FOLDER / "0").write_text("theirs")
        (tmp_path / FOLDER / COMMIT).write_text(json.dumps({"version": 1, "steps": [[path, 0]]}))
        with pytest.raises(StateError, match="cannot write"):
            recover(tmp_path)
        assert (tmp_path / "README.md").read_text() == "mine"
        (tmp_path / FOLDER / COMMIT).unlink()
        recover(tmp_path)
        assert not (tmp_path / FOLDER).exists()


@pytest.mark.parametrize(
    "text", ["", "[]", '{"version": 2, "steps": []}', '{"version": 1, "steps": [[1, 2]]}', "[" * 99999]
)
def test_a_broken_journal_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / COMMIT).write_text(text)
    with pytest.raises(StateError, match="is not a journal") as caught:
        recover(tmp_path)
    assert caught.value.hint == f"rm -r {tmp_path / FOLDER}"


def test_a_journal_that_is_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/keep").write_text("")
    (tmp_path / FOLDER).symlink_to("elsewhere")
    with pytest.raises(StateError, match="is a link"):
        recover(tmp_path)
    assert (tmp_path / "elsewhere/keep").exists()


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    readers = locked(tmp_path, exclusive=False), locked(tmp_path, exclusive=False)
    with readers[0], readers[1], pytest.raises(StateError, match="another process is writing"):
        locked(tmp_path, exclusive=True, wait=0.05).__enter__()


# ---- the process dies, the disk fills ----


def in_child(work: Callable[[], None]) -> int:
    """Run `work` in a forked child; its exit status (9 when killed)."""
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            work()
            os._exit(0)
        os._exit(1)
    return os.waitpid(child, 0)[1]


CALLS = ("replace", "rename", "unlink", "mkdir", "rmdir", "fsync", "open", "fchmod")


def at_call(number: int, act: Callable[[], None]) -> Callable[[], int]:
    """Call `act` before system call number `number` that changes the disk; returns a counter of calls."""
    count = 0

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal count
            count += 1
            if count == number:
                act()
            return original(*args, **kwargs)

        return call

    for name in CALLS:
        setattr(os, name, wrap(getattr(os, name)))
    return lambda: count


def calls_of_a_commit(tmp_path: Path) -> int:
    root = lay(tmp_path / "counted", STATES["old"])
    read, write = os.pipe()

    def work() -> None:
        count = at_call(0, lambda: None)
        put(root, STATES["new"])
        os.write(write, str(count()).encode())

    assert in_child(work) == 0
    return int(os.read(read, 20))


def test_death_at_every_step_leaves_one_state_whole(tmp_path: Path) -> None:
    seen = []
    for number in range(1, calls_of_a_commit(tmp_path) + 1):
        root = lay(tmp_path / str(number), STATES["old"])

        def work(number: int = number, root: Path = root) -> None:
            at_call(number, lambda: os._exit(9))
            put(root, STATES["new"])

        assert in_child(work) != 0
        with reading(root):
            found = snapshot(root)
        assert found in STATES.values(), number
        seen.append(found == STATES["new"])
        assert not (root / FOLDER).exists()
        put(root, STATES["new"])
        assert snapshot(root) == STATES["new"]
    assert len(seen) > 40 and seen == sorted(seen) and seen[0] is False and seen[-1] is True


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EACCES])
def test_an_error_at_every_step_is_told_and_leaves_one_state_whole(tmp_path: Path, code: int) -> None:
    for number in range(1, calls_of_a_commit(tmp_path) + 1):
        root = lay(tmp_path / str(number), STATES["old"])

        def fail() -> None:
            raise OSError(code, os.strerror(code), "somewhere")

        def work(number: int = number, root: Path = root, fail: Callable[[], None] = fail) -> None:
            at_call(number, fail)
            try:
                put(root, STATES["new"])
            except StateError as error:
                os._exit(3 if "nothing was changed" in str(error) else 4)

        status = os.waitstatus_to_exitcode(in_child(work))
        assert status in (0, 3, 4), number
        with reading(root):
            found = snapshot(root)
        assert found in ([STATES["old"]] if status == 3 else [STATES["new"]] if status == 0 else STATES.values())
        assert not (root / FOLDER).exists()


def test_a_disk_that_takes_no_more(tmp_path: Path) -> None:
    lay(tmp_path, STATES["old"])

    def work() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (120, 120))  # a real write that fails part of the way
        with pytest.raises(StateError, match="nothing was changed"):
            put(tmp_path, STATES["new"])

    assert in_child(work) == 0
    assert snapshot(tmp_path) == STATES["old"]


def test_kill_at_random_moments(make, series: str, header: str, hunk: str) -> None:
    """SIGKILL at 100 random moments of a process that does nothing but commit; the series reads whole each time."""

    def state(number: int, names: tuple[str, ...]) -> dict[str, str]:
        mark = f'at = "return {number}"'
        texts = {f"patchset/{n}/patch.toml": header + hunk.replace('at = "return $X"', mark) for n in names}
        return {"patchset/series.toml": series.replace('["x"]', json.dumps(names))} | texts

    names = {0: ("x", "y", "z"), 1: ("w", "x")}
    patchset = make()
    root = patchset.parent
    put(root, state(0, names[0]))

    def work() -> None:
        while True:
            for number in (1, 0):
                put(root, state(number, names[number]))

    def forked() -> int:
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                work()
            os._exit(1)
        return child

    def standing() -> int:
        return int(load_series(patchset).patches[0].hunks[0].forms[0].at.split()[1])

    start = time.monotonic()
    child = forked()
    while standing() == 0 and time.monotonic() - start < 60:
        time.sleep(0.001)
    window = 2.5 * (time.monotonic() - start)  # so that a kill meets any part of a commit, on a slow disk too
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    generator = random.Random(7)
    seen = set()
    for _ in range(100):
        child = forked()
        time.sleep(generator.uniform(0, window))
        if generator.random() < 0.2:  # a reader while the writer lives
            load_series(patchset)
        os.kill(child, signal.SIGKILL)
        assert os.waitpid(child, 0)[1] == signal.SIGKILL
        found = load_series(patchset)
        number = int(found.patches[0].hunks[0].forms[0].at.split()[1])
        assert [patch.name for patch in found.patches] == list(names[number])
        assert {h.forms[0].at for patch in found.patches for h in patch.hunks} == {f"return {number}"}
        assert sorted(p.name for p in patchset.iterdir()) == sorted((*names[number], "series.toml"))
        assert not (root / FOLDER).exists()
        seen.add(number)
    assert seen == {0, 1}


def test_readers_never_see_half_a_commit(make, series: str, header: str) -> None:
    patchset = make()
    root = patchset.parent
    one = {
        "patchset/series.toml": series.replace("v0.5.19", "v1"),
        "patchset/x/patch.toml": header.replace("a patch", "v1"),
    }
    two = {
        "patchset/series.toml": series.replace("v0.5.19", "v2"),
        "patchset/x/patch.toml": header.replace("a patch", "v2"),
    }
    put(root, one)
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            for _ in range(40):
                put(root, two)
                put(root, one)
        os._exit(0)
    bases = set()
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        found = load_series(patchset)
        assert found.base.name == found.patches[0].title
        bases.add(found.base.name)
    assert bases == {"v1", "v2"}


def test_uncommitted_rubbish_in_a_read_only_checkout(make) -> None:
    patchset = make()
    (patchset.parent / FOLDER).mkdir()
    (patchset.parent / FOLDER / "0").write_text("half")
    patchset.parent.chmod(0o555)
    try:
        assert load_series(patchset).patches
    finally:
        patchset.parent.chmod(0o755)
    load_series(patchset)
    assert not (patchset.parent / FOLDER).exists()


def test_a_bad_state_is_not_committed_by_an_editor(make) -> None:

    patchset = make()
    before = snapshot(patchset.parent)
    with Editor(patchset.parent) as edit:
        edit.write("patchset/x/patch.toml", "nonsense")
        with pytest.raises(PatchsetProblems):
            edit.commit()
    assert snapshot(patchset.parent) == before
