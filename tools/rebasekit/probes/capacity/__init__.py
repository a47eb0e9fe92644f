"""What a deployment holds, in whole bytes: arithmetic on a model's configuration, server flags and a card's memory.

Nothing here starts anything, and nothing imports the release. The formulas are those of the release's own code;
what differs between releases is data in `release.py`. All sizes are bytes on one rank unless a name says otherwise.
"""

from rebasekit.probes.capacity.advice import advise
from rebasekit.probes.capacity.budget import Memory, Pools, solve
from rebasekit.probes.capacity.chains import Fit, fit
from rebasekit.probes.capacity.flags import Flags, flags_from_arguments
from rebasekit.probes.capacity.model import Linear, Model, read_model
from rebasekit.probes.capacity.release import Release, release_of
from rebasekit.probes.capacity.situation import Advice, Situation

__all__ = [
    "Advice",
    "Fit",
    "Flags",
    "Linear",
    "Memory",
    "Model",
    "Pools",
    "Release",
    "Situation",
    "advise",
    "fit",
    "flags_from_arguments",
    "read_model",
    "release_of",
    "solve",
]
