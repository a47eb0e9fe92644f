"""Start of every Python of a smoke run: stand-ins and the effect probe, as `REBASEKIT_SITE` says.

Put on PYTHONPATH for the smoke only. Ranks are new interpreters, so this is the one place that reaches all of them.
"""

import json
import os
import sys


def start():
    said = os.environ.get("REBASEKIT_SITE")
    if not said:
        return
    with open(said, encoding="utf-8") as stream:
        config = json.load(stream)
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, os.path.join(os.path.dirname(here), "stand-ins"))
    sys.path.insert(0, os.path.join(os.path.dirname(here), "effects"))
    try:
        import rebasekit_effects

        probe = rebasekit_effects.Probe(config)
        if config.get("stand_ins"):
            import rebasekit_kernels
            import rebasekit_vision

            rebasekit_vision.install()
            rebasekit_kernels.install(lambda name: probe.note("stand-in", name))
        if config.get("effects"):
            probe.start()
    finally:
        del sys.path[:2]


start()
