"""Eviction of mamba states by coverage: which checkpoint may go at the least loss.

A radix node's mamba state is a place from which a prefix can be resumed; what lies between it and the point
of a match is computed again. From the cold end of the LRU list a long path loses its states front first, and
a short path its only one. Here the LRU list says which path pays, and on that path the state goes whose
neighbours lie closest together: forks and the deepest state stay, the rest is spread evenly.

Python tree core only: the Rust core keeps its own tree and never asks MambaComponent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from sglang.srt.mem_cache.unified_cache.components import MambaComponent
    from sglang.srt.mem_cache.unified_cache.unified_tree_core import UnifiedLRUList, UnifiedTreeNode


class CheckpointThinning:
    """Chooses victims for one MambaComponent. Changes nothing in the tree but the LRU position of a victim."""

    def __init__(self, component: MambaComponent):
        self._component = component  # its tree_core is set after construction
        self._proposed: torch.Tensor | None = None  # the state last proposed by next_victim

    def next_victim(self, cold: UnifiedTreeNode) -> UnifiedTreeNode:
        """The node to evict instead of ``cold``, the LRU walk's choice; ``cold`` itself if no path has a better one.

        The victim moves to ``cold``'s cold side in the LRU list: the walk goes on as if it had met it first.
        """
        victim = self._most_redundant(cold)
        # A state proposed twice outlived its step: the host backup of v0.5.21 can be called off. Proposing it
        # for ever would hang the walk.
        if victim is None or self._state(victim) is self._proposed:
            return cold
        self._proposed = self._state(victim)
        if victim is not cold:
            self._put_before_in_walk(victim, cold)
        return victim

    def eviction_order(self, holders: list[UnifiedTreeNode], excess: int) -> list[UnifiedTreeNode]:
        """``holders`` (deepest first, one root path) reordered for a caller that evicts ``excess`` from the end.

        The best victims come last; the deepest state keeps its place at the front.
        """
        path, ends = self._states(holders[0])
        victims: list[UnifiedTreeNode] = []
        while len(victims) < excess:
            index = self._smallest_gap(path, ends, {node.id for node in path})
            if index is None:
                break
            victims.append(path.pop(index))
            ends.pop(index)
        return list(reversed(victims + path))

    def _most_redundant(self, cold: UnifiedTreeNode) -> UnifiedTreeNode | None:
        """The best victim on the coldest path that has one.

        Looks no further than the colder half of the list: a path's last state outlives redundant states of
        that age, but abandoned paths cannot crowd out the ones in use.
        """
        # Session-held states form their own part of the list; a victim must not change sides.
        lru, side = self._lru(), self._session_held(cold)
        seen: set[int] = set()
        node: UnifiedTreeNode | None = cold
        for _ in range(max(1, len(lru.cache) // 2)):
            if node is None or self._session_held(node) != side:
                break
            if node.id not in seen:
                segment = self._segment(node)
                seen.update(member.id for member in segment)
                path, ends = self._states(segment[-1])
                allowed = {member.id for member in segment if self._session_held(member) == side}
                index = self._smallest_gap(path, ends, allowed)
                if index is not None:
                    return path[index]
            node = lru.get_prev_no_lock(node)
        return None

    def _smallest_gap(self, path: list[UnifiedTreeNode], ends: list[int], allowed: set[int]) -> int | None:
        """Index of the removable state whose neighbours lie closest; the shallowest of equals, never the last.

        The start of the prompt counts as a neighbour, resuming there needs no state. Ties go to the shallow
        side because a conversation is mostly resumed near its end.
        """
        best, best_gap = None, 0
        for i in range(len(path) - 1):
            gap = ends[i + 1] - (ends[i - 1] if i else 0)
            if best is not None and gap >= best_gap:
                continue
            if path[i].id in allowed and self._removable(path[i]):
                best, best_gap = i, gap
        return best

    def _removable(self, node: UnifiedTreeNode) -> bool:
        """Not a fork, not in use or in transfer, and evicting the state alone leaves the node's KV in place."""
        return (
            len(node.children) == 1
            and node.component_data[self._component.component_type].lock_ref == 0
            and node.load_back_pending_id is None
            and node not in self._component.tree_core.evictable_device_leaves
        )

    def _segment(self, node: UnifiedTreeNode) -> list[UnifiedTreeNode]:
        """The nodes on ``node``'s path after the last fork above it, down to the next fork or leaf."""
        top = node
        while top.parent is not self._component.tree_core.root_node and len(top.parent.children) == 1:
            top = top.parent
        segment = [top]
        while len(segment[-1].children) == 1:
            segment.extend(segment[-1].children.values())
        return segment

    def _states(self, node: UnifiedTreeNode) -> tuple[list[UnifiedTreeNode], list[int]]:
        """The nodes from the root down to ``node`` that hold a state, and the depth in tokens where each ends."""
        nodes = []
        while node is not self._component.tree_core.root_node:
            nodes.append(node)
            node = node.parent
        path, ends, depth = [], [], 0
        for node in reversed(nodes):
            depth += len(node.key)
            if self._state(node) is not None:
                path.append(node)
                ends.append(depth)
        return path, ends

    def _put_before_in_walk(self, victim: UnifiedTreeNode, cold: UnifiedTreeNode) -> None:
        """The walk goes from the tail to the head, so "before" is the tail side of ``cold``."""
        lru = self._lru()
        neighbour = cold
        if lru.cursor is not None:
            # With session references the walk's place is a sentinel in the list: it has to meet ``cold`` again.
            lru._remove_node(lru.cursor)
            lru._add_node_after(cold, lru.cursor)
            neighbour = lru.cursor
        lru._remove_node(victim)
        lru._add_node_after(neighbour, victim)

    def _lru(self) -> UnifiedLRUList:
        return self._component.tree_core.lru_lists[self._component.component_type]

    def _state(self, node: UnifiedTreeNode) -> torch.Tensor | None:
        return node.component_data[self._component.component_type].value

    def _session_held(self, node: UnifiedTreeNode) -> bool:
        referenced = self._lru()._is_referenced
        return referenced is not None and bool(referenced(node))
