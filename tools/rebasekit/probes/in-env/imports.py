"""Import modules, each in a process of its own: `python imports.py PACKAGE MODULE…`. Prints a JSON object for each.

Each is a fork of a process that has imported nothing of the package: torch, and what the modules before took from
elsewhere, which is most of the time of each.
"""

import contextlib
import importlib
import json
import os
import resource
import sys
import time
import traceback

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stand-ins")
import rebasekit_vision

rebasekit_vision.install()
del sys.path[0]


def child(module, package, others):
    start = time.perf_counter()
    found = {"module": module, "file": "", "error": ""}
    try:
        __import__(module)
        found["file"] = getattr(sys.modules[module], "__file__", None) or ""
    except BaseException as error:
        traceback.print_exc()
        found["error"] = "".join(traceback.format_exception_only(error)).strip().splitlines()[-1]
    found["seconds"] = round(time.perf_counter() - start, 2)
    found["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    # One write: what the module prints may not stand in the middle of it.
    sys.stdout.flush()
    os.write(1, ("\n" + json.dumps(found) + "\n").encode())
    with os.fdopen(others, "w") as stream:
        stream.writelines(f"{name}\n" for name in sys.modules if name.partition(".")[0] != package)
    os._exit(0)


def main(package, modules):
    with contextlib.suppress(ImportError):
        import torch  # noqa: F401
    assert package not in sys.modules, f"{package} was imported by torch"
    for module in modules:
        sys.stdout.flush()
        ours, theirs = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(ours)
            child(module, package, theirs)
        os.close(theirs)
        with os.fdopen(ours) as stream:
            others = stream.read().split()
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status:
            print("\n" + json.dumps({"module": module, "error": f"ended with {status}"}), flush=True)
        for name in others:
            with contextlib.suppress(Exception):
                importlib.import_module(name)
        assert package not in sys.modules, f"{package} was imported by what it imports"


main(sys.argv[1], sys.argv[2:])
