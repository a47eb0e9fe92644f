"""Starts that end while they read their arguments: forks of one process, each judged by what it said."""

from __future__ import annotations

import os
import sys

import pytest

from rebasekit.model.progress import SILENT
from rebasekit.steps.smoke.compare import Wrong
from rebasekit.steps.smoke.plan import Launch
from rebasekit.steps.smoke.refusals import early, refusal

SERVER = """\
import os, sys, time
import heavy
if __name__ == "__main__":
    flag = sys.argv[1]
    if flag == "--refuse":
        raise ValueError(f"`{flag}` is not served, said {os.environ.get('WHO')}")
    if flag == "--exit":
        print("bad flag", file=sys.stderr)
        sys.exit(2)
    if flag == "--zero":
        print("is not served")
        sys.exit()
    if flag == "--crash":
        os.kill(os.getpid(), 11)
    if flag == "--look":
        alive = os.path.exists("/proc/" + open(os.environ["LEFT"]).read())
        raise ValueError("the one before is not served and " + ("left behind" if alive else "gone"))
    open(os.environ["LEFT"], "w").write(str(os.getpid()))
    time.sleep(60)
"""


@pytest.fixture
def ask(tmp_path):
    (tmp_path / "started.py").write_text(SERVER)
    (tmp_path / "heavy.py").write_text("print('imported once')\n")
    (tmp_path / "logs").mkdir()

    def run(*launches, limit=20.0, warm=("heavy",), card=False, jobs=1):
        environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path), "WHO": "nobody", "GONE": "1"}
        lines = early(
            sys.executable, "started", warm, launches, lambda launch: list(launch.arguments), environ,
            tmp_path / "logs", limit, SILENT, card, jobs,
        )  # fmt: skip
        return {line.launch: (line.outcome, line.text) for line in lines}

    run.logs = tmp_path / "logs"
    return run


def launch(name, flag, refuses="is not served", **more):
    return Launch(name, (flag,), refuses=refuses, early=True, **more)


def test_each_start_is_a_process_of_its_own(ask):
    found = ask(launch("a", "--refuse", environment={"WHO": "a"}), launch("b", "--refuse", without=("WHO",)))
    assert found == {
        "a": ("ok", "`--refuse` is not served, said a"),
        "b": ("ok", "`--refuse` is not served, said None"),
    }
    assert (ask.logs / "refusals.log").read_text().count("imported once") == 1


def test_what_is_no_refusal(ask):
    found = ask(launch("other", "--exit"), launch("zero", "--zero"), launch("crash", "--crash"))
    assert found["other"][0] == "FAIL" and "ended with 2, and never said `is not served`" in found["other"][1]
    assert found["zero"] == ("FAIL", "said why it does not start, and ended with 0")
    assert found["crash"][0] == "FAIL" and "ended with -11" in found["crash"][1]


def test_a_start_that_goes_on_is_ended(ask):
    left = {"LEFT": str(ask.logs / "pid")}
    found = ask(launch("serves", "--serve", environment=left), launch("after", "--look", environment=left), limit=1.0)
    assert found["serves"][0] == "FAIL" and "went on for 1 s" in found["serves"][1]
    assert found["after"] == ("ok", "the one before is not served and gone")


TORCH = """\
import os
class cuda:
    ours = None
    def init():
        assert cuda.ours in (None, os.getpid()), "in a fork"
        cuda.ours = os.getpid()
    def is_available():
        if os.environ.get("PYTORCH_NVML_BASED_CUDA_CHECK") != "1":
            cuda.ours = os.getpid()
        return True
"""


@pytest.mark.parametrize("touch, again", [("init", 1), ("is_available", 0)])
def test_what_touches_a_card_is_left_to_each_fork(ask, tmp_path, touch, again):
    """`torch` is one that refuses the card to forks of a process that touched it, even by asking whether there is one;
    there is a way to ask that does not. What was not touched is imported once for all."""
    (tmp_path / "torch.py").write_text(TORCH)
    (tmp_path / "looks.py").write_text(f"import torch\ntorch.cuda.{touch}()\nprint('looked', flush=True)\n")
    server = SERVER.replace("import heavy\n", "import heavy\nif __name__ == '__main__': import looks, torch\n")
    (tmp_path / "started.py").write_text(server.replace("flag = sys.argv[1]", "flag = sys.argv[1]; torch.cuda.init()"))
    assert ask(launch("a", "--refuse"), warm=("heavy", "looks"))["a"][0] == "FAIL"
    assert ask(launch("a", "--refuse"), warm=("heavy", "looks"), card=True)["a"][0] == "ok"
    assert (ask.logs / "a.log").read_text().count("looked") == again


def test_several_at_once(ask):
    meet = """\
import os, sys, time
import heavy
if __name__ == "__main__":
    open(sys.argv[1], "w").close()
    while not all(os.path.exists(name) for name in ("x", "y")):
        time.sleep(0.01)
    raise ValueError(f"{sys.argv[1]} is not served")
"""
    (ask.logs.parent / "started.py").write_text(meet)
    found = ask(launch("a", "x"), launch("b", "y"), launch("c", "x"), jobs=2)
    assert found == {name: ("ok", f"{flag} is not served") for name, flag in (("a", "x"), ("b", "y"), ("c", "x"))}
    for name in ("x", "y"):
        (ask.logs / name).unlink()
    assert ask(launch("a", "x"), launch("b", "y"), limit=0.5)["a"][0] == "FAIL"


def test_a_release_that_cannot_be_imported_fails_every_one(ask):
    found = ask(launch("a", "--refuse"), launch("b", "--refuse"), warm=("absent",))
    assert [outcome for outcome, _ in found.values()] == ["FAIL", "FAIL"]
    assert "No module named 'absent'" in found["a"][1]


def test_the_error_and_not_its_source_is_shown():
    log = 'Traceback …\n    raise ValueError("x is not served")\nValueError: x is not served\n'
    assert refusal("is not served", 1, log, "") == "x is not served"
    with pytest.raises(Wrong, match="never said"):
        refusal("is not served", 1, "", "")
