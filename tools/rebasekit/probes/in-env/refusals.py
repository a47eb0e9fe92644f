"""Start a module many times, each in a fork of a process that has imported it: `python refusals.py CASES.json`.

For starts that have to end while they read their arguments. A fork costs a fraction of a second, an interpreter with
torch in it ten. Where an import touches a GPU, what it touched is of no use in a fork: then this process stops short
of it, and each fork goes on from there, as many at once as it is told. CASES.json is `{"module": …,
"limit": seconds, "warm": [modules], "card": whether there is one, "jobs": how many at once, "cases": [{"name", "argv",
"set", "unset", "log"}, …]}`. Prints a JSON object per case as it ends: its exit code (None at the limit) and seconds.
"""

import importlib
import importlib.util
import json
import os
import runpy
import signal
import sys
import time
import traceback

STEP = 0.05


def child(module, case):
    """Never returns."""
    os.setpgid(0, 0)
    stream = os.open(case["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(stream, 1)
    os.dup2(stream, 2)
    code = 1
    try:
        for key in case["unset"]:
            os.environ.pop(key, None)
        os.environ.update(case["set"])
        sys.argv = [module, *case["argv"]]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def started(module, case):
    """`(case, pid, when)` of a fork that goes on as the module."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        child(module, case)
    return case, pid, time.monotonic()


def ended(pid, when, limit):
    """Whether a fork has ended, and with what; at the limit it is, with None."""
    done, status = os.waitpid(pid, os.WNOHANG)
    if done:
        return True, os.waitstatus_to_exitcode(status)
    if time.monotonic() - when < limit:
        return False, None
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return True, None


def answer(question, otherwise):
    """The small number that a question gives in a fork, `otherwise` where it raises: this process keeps no trace."""
    pid = os.fork()
    if pid == 0:
        code = otherwise
        try:
            code = question()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def spoiled():
    """Whether a GPU would be refused to a fork of this process: asked of a fork, since the first look at how many there
    are is enough for that, and leaves no other trace."""
    torch = sys.modules.get("torch")

    def use():
        torch.cuda.init()
        return 0

    return torch is not None and answer(use, 1) != 0


def harmless(names):
    """How many of the modules can be imported, in order, without touching a GPU; found out in a fork."""

    def count():
        for number, name in enumerate(names):
            importlib.import_module(name)
            if spoiled():
                return number
        return len(names)

    return answer(count, len(names))  # where one cannot be, the import below says what is wrong


def main(path):
    with open(path, encoding="utf-8") as stream:
        asked = json.load(stream)
    names = ["torch"] * (importlib.util.find_spec("torch") is not None) + [asked["module"], *asked["warm"]]
    if asked["card"]:
        os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # then asking whether there is a GPU does not touch it
        names = names[: harmless(names)]
    for name in names:
        importlib.import_module(name)
    waiting, running = list(asked["cases"]), []
    while waiting or running:
        while waiting and len(running) < asked["jobs"]:
            running.append(started(asked["module"], waiting.pop(0)))
        time.sleep(STEP)
        for each in list(running):
            case, pid, when = each
            over, code = ended(pid, when, asked["limit"])
            if over:
                running.remove(each)
                print(json.dumps({"name": case["name"], "code": code, "seconds": time.monotonic() - when}), flush=True)


main(sys.argv[1])
