"""Random requests against a SmallCache: sessions that grow, fork, are locked, and lose states."""

from __future__ import annotations

import hashlib
import random
from typing import Any

from small_cache import SmallCache


def run(small: SmallCache, seed: int, steps: int = 120) -> str:
    """Digest of every match length seen, and of what can be resumed at the end. Checks the tree after each step."""
    rng = random.Random(seed)
    sessions = [[rng.randrange(1000) for _ in range(4)]]
    held: list[tuple[Any, Any]] = []
    seen: list[Any] = []
    for _ in range(steps):
        operation = rng.choice(["grow", "grow", "grow", "fork", "match", "lock", "unlock", "evict"])
        session = rng.choice(sessions)
        fresh = [rng.randrange(1000) for _ in range(rng.randint(1, 5))]
        if operation == "grow" and len(session) < 90:
            session += fresh
            small.insert(list(session))
        elif operation == "fork" and len(sessions) < 6:
            sessions.append(session[: rng.randint(1, len(session))] + fresh)
            small.insert(list(sessions[-1]))
        elif operation == "match":
            seen.append(small.match(session[: rng.randint(1, len(session))])[0])
        elif operation == "lock" and len(held) < 3:
            node = small.match(session)[1]
            held.append((node, small.cache.inc_lock_ref(node).to_dec_params()))
        elif operation == "unlock" and held:
            small.cache.dec_lock_ref(*held.pop(rng.randrange(len(held))))
        elif operation == "evict":
            small.evict(rng.randint(1, 2))
        small.check()
    for node, params in held:
        small.cache.dec_lock_ref(node, params)
    small.check()
    seen += [small.resumable(session) for session in sessions]
    small.evict(1000)
    small.check()
    return hashlib.sha256(repr(seen).encode()).hexdigest()
