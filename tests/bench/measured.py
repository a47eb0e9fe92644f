"""One command measured from outside: time, CPU time and memory.

A small process stands between: Linux counts the memory of whoever starts a process as that process's own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

_BETWEEN = """
import json, resource, subprocess, sys, time
start = time.perf_counter()
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
seconds = time.perf_counter() - start
used = resource.getrusage(resource.RUSAGE_CHILDREN)
told = done.stderr.decode(errors="replace")[-4000:]
print(json.dumps([done.returncode, seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, told]))
"""


@dataclass(frozen=True)
class Used:
    """Exit code, wall and CPU seconds, the largest process's memory in MiB, and the end of standard error."""

    code: int
    seconds: float
    cpu: float
    megabytes: float
    told: str


def rebasekit(arguments: Sequence[str]) -> Used:
    """Run rebasekit's command line in a process of its own."""
    vector = [sys.executable, "-S", "-c", _BETWEEN, sys.executable, "-P", "-m", "rebasekit", *arguments]
    done = subprocess.run(vector, stdout=subprocess.PIPE, check=True)
    return Used(*json.loads(done.stdout))
