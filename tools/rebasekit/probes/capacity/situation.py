"""What advice starts from: a deployment with its pools, and how other flags would do."""

from __future__ import annotations

from dataclasses import dataclass

from rebasekit.errors import RebasekitError
from rebasekit.probes.capacity.budget import Memory, Pools, solve
from rebasekit.probes.capacity.chains import Fit
from rebasekit.probes.capacity.flags import Flags
from rebasekit.probes.capacity.model import Model
from rebasekit.probes.capacity.release import Release


@dataclass(frozen=True)
class Advice:
    """Flags that belong together, why, and what comes of them."""

    flags: tuple[str, ...]
    why: str
    after: str = ""


@dataclass(frozen=True)
class Situation:
    """A deployment with its pools and the chains that it is to hold."""

    model: Model
    flags: Flags
    memory: Memory
    release: Release
    pools: Pools
    fit: Fit | None
    patched: bool
    transient: int = 0
    """Bytes of the dense prefix copies of the longest chain, which are made from the reserve."""

    def solved(self, flags: Flags, *, patched: bool | None = None) -> Pools | None:
        """The pools with other flags, None where nothing fits."""
        patched = self.patched if patched is None else patched
        try:
            return solve(self.model, flags, self.memory, self.release, patched=patched)
        except RebasekitError:
            return None
