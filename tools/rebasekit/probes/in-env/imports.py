"""Import one module in a process of its own: `python imports.py MODULE`. Prints one JSON object as its last line."""

import json
import os
import resource
import sys
import time

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stand-ins")
import rebasekit_vision

rebasekit_vision.install()
del sys.path[0]
start = time.perf_counter()
__import__(sys.argv[1])
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
where = getattr(sys.modules[sys.argv[1]], "__file__", "")
print(json.dumps({"file": where, "seconds": round(time.perf_counter() - start, 2), "memory": peak}))
