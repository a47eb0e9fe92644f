"""SIGKILL at any moment of a command that writes: patchset, map and store still load, and the next run succeeds."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from harness import Case, patch_toml, series, write_tree

from rebasekit.patches import load_map
from rebasekit.patches.load import load
from rebasekit.patches.mapped import mapped_tags
from rebasekit.steps.workspace import Workspace

A = "def one(x):\n    y = x + 1\n    return y\n\n\ndef two(x):\n    z = x + 2\n    return z\n"
NEW = A.replace("    y = x + 1\n", "    y = check(x + 1)\n")
ONE = (
    'id = "one"\nfile = "pkg/a.py"\nscope = "one"\nplace = "replace"\nat = "y = x + 1"\nbody = "one.py"\ndecision = "d"'
)
TWO = 'id = "two"\nfile = "pkg/a.py"\nscope = "two"\nplace = "before"\nat = "return z"\nlines = "z *= 3"'
DIFF = "--- a/pkg/b.py\n+++ b/pkg/b.py\n@@ -1 +1,2 @@\n B = 1\n+B = 2\n"
KILLS = int(os.environ.get("REBASEKIT_KILLS", "2"))  # of each command; `nox -s faults` makes 300 of all


def settle(file: Path) -> None:
    text = re.sub(r"(?ms)^<<<<<<<.*?^=======\n(.*?)^>>>>>>>[^\n]*\n", r"\1", file.read_text())
    file.write_text(text.replace("x + 1", "x + 5"))


@pytest.fixture
def case(tmp_path: Path) -> Case:
    upstream = {
        "v1.0.0": {"pkg/a.py": A, "pkg/b.py": "B = 1\n", "pkg/c.py": "C = 1\n"},
        "v1.1.0": {"pkg/a.py": A.replace("x + 2", "x + 3"), "pkg/b.py": "B = 1\n", "pkg/c.py": "C = 1\n"},
        "v1.2.0": {"pkg/a.py": NEW, "pkg/b.py": "B = 1\n", "pkg/c.py": "C = 1\n"},
    }
    patchset = {
        "series.toml": series("v1.0.0", patches=["p", "second"]),
        "p/patch.toml": patch_toml(ONE, TWO),
        "p/one.py": "y = x + 5\n",
        "second/patch.toml": patch_toml('id = "c"\nfile = "pkg/c.py"\nplace = "after"\nat = "C = 1"\nlines = "C += 1"'),
    }
    made = Case(tmp_path / "case", upstream=upstream, patchset=patchset)
    for tag in ("v1.0.0", "v1.1.0", "v1.2.0"):
        made.run("rebase", tag)
    made.write({"in.diff": DIFF})
    return made


def prepare_refresh(case: Case) -> None:
    folder = Path(case.run("edit", "p").stdout.strip())
    text = (folder / "pkg/a.py").read_text().replace("x + 5", "x + 6").replace("z *= 3", "z *= 4")
    (folder / "pkg/a.py").write_text(text)
    (folder / "pkg/new.py").write_text("N = 1\n")


def prepare_resolve(case: Case) -> None:
    settle(Path(case.run("resolve", "p/one", "--tag", "v1.2.0").stdout.strip()))


def prepare_apply(case: Case) -> None:
    write_tree(case.project / "target", case.pristine("v1.0.0"))


def prepare_take_out(case: Case) -> None:
    prepare_apply(case)
    assert case.run("apply", "--tag", "v1.0.0", "--to", "target").exit == 0


def prepare_drop(case: Case) -> None:
    assert case.run("resolve", "p/one", "--tag", "v1.2.0").exit == 0


COMMANDS: dict[str, tuple[tuple[str, ...], Callable[[Case], None]]] = {
    "rebase": (("rebase", "v1.1.0"), lambda case: None),
    "accept": (("accept", "p/two", "--tag", "v1.1.0", "--why", "looked"), lambda case: None),
    "refresh": (("refresh", "p"), prepare_refresh),
    "import": (("import", "in.diff", "--onto", "v1.0.0", "--as", "q"), lambda case: None),
    "resolve": (("resolve", "p/one", "--continue", "--tag", "v1.2.0", "--why", "w"), prepare_resolve),
    "drop": (("resolve", "p/one", "--drop", "--tag", "v1.2.0", "--why", "w"), prepare_drop),
    "open": (("resolve", "p/one", "--tag", "v1.2.0"), lambda case: None),
    "edit": (("edit", "p"), lambda case: None),
    "apply": (("apply", "--tag", "v1.0.0", "--to", "target"), prepare_apply),
    "take out": (("apply", "--tag", "v1.0.0", "--to", "target", "-R"), prepare_take_out),
    "rename": (("rename", "p", "r"), lambda case: None),
    "reorder": (("reorder", "p", "--after", "second"), lambda case: None),
    "fold": (("fold", "second", "--into", "p"), lambda case: None),
    "delete": (("delete", "second"), lambda case: None),
}
ELSEWHERE = ("apply", "take out")  # they write into a folder that only they themselves put right again


def killed(case: Case, argv: tuple[str, ...], seconds: float) -> bool:
    """Run a command in a forked child, which is warm, and SIGKILL its whole group; whether it was still at work."""
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        status = 1
        try:
            status = case.run(*argv).exit
        finally:
            os._exit(status)
    time.sleep(seconds)
    for stop in (os.killpg, os.kill):
        try:
            stop(child, signal.SIGKILL)
            break
        except ProcessLookupError:
            continue
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def whole(case: Case) -> None:
    """Everything that a command reads can be read."""
    space = Workspace(case.project, case.cache)
    assert load(space.patchset)
    for tag in mapped_tags(case.project):
        assert load_map(case.project, tag)
    with space.store as store:
        assert len(store.tags()) == 3


def states(case: Case) -> dict[str, bytes]:
    files = (p for p in case.project.rglob("*") if p.is_file() and ".rebasekit-journal" not in p.parts)
    return {str(p.relative_to(case.project)): p.read_bytes() for p in files}


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_kill_at_any_moment(case: Case, name: str) -> None:
    argv, prepare = COMMANDS[name]
    prepare(case)
    saved = case.root / "saved"
    places = (case.project, case.cache)
    for place in places:
        shutil.copytree(place, saved / place.name, symlinks=True)

    def restore() -> None:
        for place in places:
            shutil.rmtree(place)
            shutil.copytree(saved / place.name, place, symlinks=True)

    before = states(case)
    assert case.run(*argv).exit == 0
    after = states(case)
    restore()
    start = time.perf_counter()  # of a second run: the first one loads modules, and the children have them
    assert case.run(*argv).exit == 0
    seconds = time.perf_counter() - start
    chance, dead, seen = random.Random(name), 0, set()
    for number in range(KILLS):
        if number == 0 or seen:
            restore()
        moment = seconds * (number + chance.random()) / KILLS * 1.3
        dead += killed(case, argv, moment)
        whole(case)  # reading is what completes, or throws away, a change that was cut short
        if name in ELSEWHERE:
            again = case.run(*argv)
            assert again.exit == 0 or "already" in again.stderr
            assert states(case) == after
            assert not list(case.project.rglob(".rebasekit*"))
            restore()
            continue
        now = states(case)
        assert now in (before, after), "all or nothing"
        seen.add("before" if now == before else "after")
        if now == before:
            again = case.run(*argv)
            assert again.exit == 0, again.stderr
            assert states(case) == after
        assert not list(case.project.glob(".rebasekit*"))
    assert KILLS < 10 or dead >= KILLS // 3, "the moments have to lie within the work"


@pytest.mark.slow
def test_kill_within_the_commit(case: Case) -> None:
    """The moments that chance seldom meets: after each single write, rename and deletion of the commit."""
    argv, prepare = COMMANDS["refresh"]
    prepare(case)
    saved = case.root / "saved"
    shutil.copytree(case.project, saved)
    before = states(case)
    assert case.run(*argv).exit == 0
    after = states(case)
    for moment in range(1, 40):
        shutil.rmtree(case.project)
        shutil.copytree(saved, case.project)
        child = os.fork()
        if child == 0:
            die_after(moment, case.project)
            case.run(*argv)
            os._exit(0)
        done = not os.WIFSIGNALED(os.waitpid(child, 0)[1])
        whole(case)
        assert states(case) in (before, after)
        if done:
            assert moment > 10
            return
    raise AssertionError("the commit does not end")


def die_after(count: int, root: Path) -> None:
    """SIGKILL this process before its next change of the project's files."""
    left = count

    def hook(event: str, args: tuple[object, ...]) -> None:
        nonlocal left
        writes = event in ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.unlink", "shutil.rmtree")
        if event == "open":
            writes = isinstance(args[1], str) and any(c in args[1] for c in "wxa+")
        if writes and isinstance(args[0], (str, os.PathLike)) and str(args[0]).startswith(str(root)):
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def test_interrupted_by_the_keyboard(case: Case, tmp_path: Path) -> None:
    """^C: exit code 130, one line, and no temporary folders."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    prepare_refresh(case)
    before = states(case)
    for argv in (COMMANDS["refresh"][0], COMMANDS["import"][0]):
        for seconds in (0.1, 0.3, 0.5):
            process = subprocess.Popen(
                [sys.executable, "-m", "rebasekit", *argv],
                cwd=case.project,
                env={**case.env, "TMPDIR": str(temporary)},
                stderr=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
            time.sleep(seconds)
            os.killpg(process.pid, signal.SIGINT)
            process.communicate()
            assert not list(temporary.iterdir()), (argv, seconds)
            whole(case)
            if states(case) != before:
                # it was done, or ^C came on its way out
                assert process.returncode in (0, 130, -signal.SIGINT)
                break
