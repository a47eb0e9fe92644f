"""--mamba-checkpoint-thinning on the Python tree core, and what the Rust core makes of it."""

from __future__ import annotations

import pytest
import tree

tree.require()

import host_tier
import traffic
from small_cache import SmallCache, knows, small_cache

PROMPT = list(range(2000, 2200))
OTHER = list(range(4000, 4200))
SLOTS = 16


def python_cache(slots: int = SLOTS, thinning: bool = True, **arguments: object) -> SmallCache:
    small = small_cache(slots, thinning=thinning, **arguments)
    assert small.core == "UnifiedTreeCore"
    return small


def gaps(depths: list[int]) -> list[int]:
    """Tokens to compute again at worst before each state; the start of the prompt needs no state."""
    return [deep - shallow for shallow, deep in zip([0, *depths], depths, strict=False)]


def long_path(small: SmallCache) -> list[int]:
    small.insert_path(PROMPT, list(range(2, 130, 2)))
    small.check()
    return small.resumable(PROMPT)


@pytest.mark.differs
@pytest.mark.parametrize("int8", [False, True], ids=["bf16", "int8"])
def test_one_long_path_is_covered_evenly(int8: bool) -> None:
    """64 states through 16 slots: no stretch is longer than twice the even spacing of 8 tokens."""
    slots = {"enable_int8_mamba_checkpoint": True, "int8_mamba_ckpt_size": SLOTS} if int8 else {}
    depths = long_path(python_cache(**slots))
    assert len(depths) == SLOTS
    assert depths[-1] == 128, "the deepest state went"
    assert max(gaps(depths)) <= 16


def test_without_the_flag_a_path_keeps_its_end() -> None:
    """Upstream's order, so the test above measures the flag and not the setting."""
    assert long_path(python_cache(thinning=False)) == list(range(98, 130, 2))


@pytest.mark.differs
def test_forks_and_deepest_states_outlive_the_states_between() -> None:
    small = python_cache(slots=12)
    fork = PROMPT[:10]
    branches = [fork + PROMPT[50:90], fork + OTHER[50:90]]
    small.insert(fork)
    for branch in branches:
        small.insert_path(branch, [14, 18, 22, 26, 30])
    small.evict(6)
    small.check()
    for branch in branches:
        depths = small.resumable(branch[:40])
        assert 10 in depths, "the fork went"
        assert 30 in depths, "a deepest state went"


@pytest.mark.differs
def test_the_coldest_path_pays() -> None:
    """The LRU list still says which conversation loses states; coverage only says which ones."""
    small = python_cache(slots=20)
    cold, warm = OTHER[:40], PROMPT[:40]
    small.insert_path(cold, list(range(4, 36, 4)))
    small.insert_path(warm, list(range(4, 36, 4)))
    small.evict(4)
    small.check()
    assert small.resumable(warm) == list(range(4, 36, 4))
    assert small.resumable(cold) == [8, 16, 24, 32]


def test_a_path_down_to_its_last_state_loses_it() -> None:
    """Progress: with nothing redundant left the walk takes what upstream would take, down to an empty tree."""
    small = python_cache(slots=8)
    small.insert_path(PROMPT, [4, 8, 12])
    small.insert_path(OTHER, [4])
    small.evict(8)
    small.check()
    assert small.resumable(PROMPT[:12]) == small.resumable(OTHER[:4]) == []


@pytest.mark.differs
def test_a_locked_state_stays_and_counts_as_cover() -> None:
    small = python_cache(slots=16)
    small.insert_path(PROMPT, list(range(4, 44, 4)))
    node = small.match(PROMPT[:20])[1]
    with small.locked(node):
        small.evict(5)
        small.check()
    depths = small.resumable(PROMPT[:40])
    assert 20 in depths and depths[-1] == 40
    assert max(gaps(depths)) <= 12


@pytest.mark.differs
def test_the_path_limit_thins_instead_of_cutting_the_front() -> None:
    """--mamba-max-states-per-path is a limit on every insert, without memory pressure."""
    small = python_cache(slots=64, mamba_max_states_per_path=8)
    small.insert_path(PROMPT, list(range(2, 66, 2)))
    small.check()
    depths = small.resumable(PROMPT[:64])
    assert len(depths) == 8
    assert depths[-1] == 64
    assert max(gaps(depths)) <= 16


def test_the_path_limit_without_the_flag_cuts_the_front() -> None:
    small = python_cache(slots=64, thinning=False, mamba_max_states_per_path=8)
    small.insert_path(PROMPT, list(range(2, 66, 2)))
    assert small.resumable(PROMPT[:64]) == list(range(50, 66, 2))


@pytest.mark.parametrize("sessions", [False, True], ids=["plain", "sessions"])
@pytest.mark.parametrize("limit", [-1, 4], ids=["no-limit", "limit-4"])
@pytest.mark.parametrize("seed", range(6))
def test_random_traffic_keeps_the_tree_sound(seed: int, limit: int, sessions: bool) -> None:
    """Locks, LRU lists, sizes and slots after every step; ``sessions`` walks with a sentinel in the list."""
    traffic.run(python_cache(slots=14, sessions=sessions, mamba_max_states_per_path=limit), seed)


@pytest.mark.differs
def test_session_held_states_are_spared() -> None:
    """A session's states and the others live in two parts of the list; a victim comes from the part of the walk."""
    small = python_cache(slots=16, sessions=True)
    small.insert_path(PROMPT, list(range(4, 44, 4)))
    core = small.cache.tree_core
    held = core.node_by_id(small.match(PROMPT[:8])[1])
    small.component._inc_session_coverage("a session", held)
    small.evict(6)
    small.check()
    depths = small.resumable(PROMPT[:40])
    assert 8 in depths and depths[-1] == 40
    assert max(gaps(depths)) <= 16


@pytest.mark.differs
@pytest.mark.parametrize("policy", ["write_back", "write_through"])
def test_a_host_tier_does_not_change_the_choice(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From v0.5.21 an unbacked victim is copied to the host first, in a step of its own."""
    small = python_cache(**host_tier.flags(policy))
    host_tier.attach(small, monkeypatch)
    depths = long_path(small)
    assert len(depths) == SLOTS
    assert depths[-1] == 128
    assert max(gaps(depths)) <= 16


@pytest.mark.parametrize("policy", ["write_back", "write_through"])
@pytest.mark.parametrize("seed", range(3))
def test_random_traffic_with_a_host_tier(seed: int, policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    small = python_cache(slots=14, **host_tier.flags(policy))
    host_tier.attach(small, monkeypatch)
    traffic.run(small, seed)


def test_a_backup_that_is_called_off_does_not_hang_the_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    """The victim outlives its step, so the next step has to take another."""
    small = python_cache(**host_tier.flags("write_back"))
    host_tier.attach(small, monkeypatch)
    if not hasattr(small.cache, "backup_node_for_write_back"):
        pytest.skip("this release copies no internal state on eviction")
    small.insert_path(PROMPT, list(range(4, 44, 4)))
    core = small.cache.tree_core
    asked = []

    def called_off(node_id: int) -> None:
        asked.append(node_id)
        core.node_by_id(node_id).load_back_pending_id = 1  # another transfer got hold of the state

    monkeypatch.setattr(small.cache, "backup_node_for_write_back", called_off)
    small.evict(1)
    assert len(asked) == len(set(asked)) > 0
    for node_id in asked:
        core.node_by_id(node_id).load_back_pending_id = None
    small.check()


def test_a_state_that_outlives_its_step_is_not_proposed_again() -> None:
    small = python_cache()
    small.insert_path(PROMPT, [4, 8, 12, 16])
    thinning, lru = small.component.checkpoint_thinning, small.cache.tree_core.lru_lists[small.component.component_type]
    cold = lru.get_lru_no_lock()
    proposed = thinning.next_victim(cold)
    assert thinning.next_victim(lru.get_prev_no_lock(cold)) is not proposed
    small.check()


@pytest.mark.unchanged
@pytest.mark.parametrize("core", ["python", "rust"])
def test_off_changes_nothing(core: str, record_property: object) -> None:
    """test_pristine.py compares this trace with the pristine tree's."""
    if core == "rust" and not tree.has_rust_core():
        pytest.skip("this tree has no Rust core extension")
    small = small_cache(14, core=core)
    assert small.core == {"python": "UnifiedTreeCore", "rust": "RustUnifiedTreeCore"}[core]
    record_property("trace", traffic.run(small, seed=7))


def test_the_rust_core_makes_the_thinning_moot() -> None:
    """Why the guard exists: built past it, the Rust core keeps the path's end as if the flag were not there."""
    if not tree.has_rust_core():
        pytest.skip("this tree has no Rust core extension")
    assert knows("mamba_checkpoint_thinning")
    small = small_cache(SLOTS, core="rust", thinning=True)
    assert small.core == "RustUnifiedTreeCore"
    assert long_path(small) == list(range(98, 130, 2))
