"""One file's facts as they are kept: an outline that every question reads, and parts that few ask for."""

from __future__ import annotations

import marshal
import zlib
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

from rebasekit.facts.records import Assign, Call, Return

_MOST_OPEN = 500  # files of which calls are decoded; what is asked for again is decoded again
DIGEST = 10  # bytes
_TOGETHER = 16  # scopes; fewer save little, and each compression has a price of its own


class Packed(NamedTuple):
    """What `extract` makes of a file. An unread file has neither.

    outline: heads of the scopes, and what each reads; as it is, for unpacking costs more than the room that it saves.
    rest: assignments; calls and returns; parameters; guards; digests. Compressed, the first three so many scopes
    together: a question about a large file is about few of its functions.
    """

    outline: bytes
    rest: bytes


def pack_file(scopes: list[tuple[Any, ...]], guards: list[tuple[Any, ...]]) -> Packed:
    """What `ScopeWriter.pack` gave of each scope, and the file's tests."""
    heads, bounds, reads, assigns, acts, parameters, digests = zip(*scopes, strict=True)
    rest: tuple[Any, ...] = (
        *map(_together, (assigns, acts, parameters)),
        _squeeze(tuple(guards)),
        b"".join(digests),
    )
    return Packed(marshal.dumps((heads, marshal.dumps((bounds, reads)))), marshal.dumps(rest))


def _together(records: tuple[bytes, ...]) -> list[bytes]:
    return [_squeeze(records[at : at + _TOGETHER]) for at in range(0, len(records), _TOGETHER)]


def _squeeze(value: tuple[Any, ...]) -> bytes:
    return zlib.compress(marshal.dumps(value), 1)


def _load(packed: bytes) -> tuple[Any, ...]:
    part: tuple[Any, ...] = marshal.loads(packed)  # noqa: S302 - our own cache
    return part


class PackedFile:
    """Scope heads at once, everything else when it is asked for, as bare tuples in the order of `records`' fields."""

    def __init__(self, outline: bytes, rest: bytes | Callable[[], bytes]) -> None:
        self.heads, self._read_part = _load(outline) if outline else ((), _NO_READS)
        self._rest = rest
        self._acts: dict[int, tuple[bytes, ...]] = {}
        self.opened: dict[PackedFile, None] | None = None  # files of the tree whose calls are decoded, oldest first

    def __len__(self) -> int:
        return len(self.heads)

    @cached_property
    def _parts(
        self,
    ) -> tuple[list[bytes | tuple[bytes, ...]], list[bytes], list[bytes | tuple[bytes, ...]], bytes, bytes]:
        """Assignments, acts, parameters; guards; digests."""
        rest, self._rest = self._rest, b""
        assigns, acts, parameters, guards, digests = _load(rest if isinstance(rest, bytes) else rest())
        return assigns, acts, parameters, guards, digests

    def _one(self, groups: list[bytes | tuple[bytes, ...]], index: int) -> bytes:
        """The record of one scope; those that are packed with it stay unpacked."""
        group = groups[index // _TOGETHER]
        if isinstance(group, bytes):
            group = groups[index // _TOGETHER] = _load(zlib.decompress(group))
        return group[index % _TOGETHER]

    def _in_use(self) -> None:
        """Calls and guards stay unpacked until those of many other files are in use."""
        if self.opened is not None and self not in self.opened:
            self.opened[self] = None
            if len(self.opened) > _MOST_OPEN:
                oldest = next(iter(self.opened))
                del self.opened[oldest]
                oldest.forget()

    def forget(self) -> None:
        """Let go of most that was decoded: a whole tree of it is too much to hold while it is linked."""
        self._acts.clear()
        self.__dict__.pop("_guards", None)

    def decoded(self) -> bool:
        """Whether there is anything of that to let go of."""
        return bool(self._acts) or "_guards" in self.__dict__

    @cached_property
    def _bounds_and_reads(self) -> tuple[tuple[str | None, ...], tuple[bytes, ...]]:
        packed, self._read_part = self._read_part, b""
        bounds, reads = _load(packed)
        return bounds, reads

    @cached_property
    def _guards(self) -> tuple[tuple[int, str, bool, int], ...]:
        self._in_use()
        return _load(zlib.decompress(self._parts[3]))

    def bound(self, index: int) -> str:
        """Names assigned in a scope, with a space before and after each: a tree has a million of these."""
        found: str | None = self.heads[index][10]
        return found if found is not None else self._bounds_and_reads[0][index] or ""

    def reads(self, index: int) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Chains read in a scope, and the line of each."""
        packed = self._bounds_and_reads[1][index]
        found: tuple[tuple[str, ...], tuple[int, ...]]
        found = marshal.loads(packed) if packed else ((), ())  # noqa: S302 - our own cache
        return found

    def may_read(self, index: int, words: tuple[bytes, ...]) -> bool:
        """Whether one of these stands in what a scope reads; cheaper than `reads`."""
        packed = self._bounds_and_reads[1][index]
        return any(word in packed for word in words)

    def raw_acts(self, index: int) -> tuple[tuple[Call, ...], tuple[Return, ...]]:
        """Calls and returns; arguments' lines as they are packed."""
        number = index // _TOGETHER
        group = self._acts.get(number)
        if group is None:
            self._in_use()
            group = self._acts[number] = _load(zlib.decompress(self._parts[1][number]))
        packed = group[index % _TOGETHER]
        acts: tuple[tuple[Call, ...], tuple[Return, ...]]
        acts = marshal.loads(packed) if packed else ((), ())  # noqa: S302 - our own cache
        return acts

    def raw_assigns(self, index: int) -> tuple[Assign, ...]:
        """Assignments."""
        packed = self._one(self._parts[0], index)
        assigns: tuple[Assign, ...] = marshal.loads(packed) if packed else ()  # noqa: S302 - our own cache
        return assigns

    def raw_parameters(self, index: int) -> tuple[Any, ...]:
        """Parameters."""
        packed = self._one(self._parts[2], index)
        found: tuple[Any, ...] = marshal.loads(packed) if packed else ()  # noqa: S302 - our own cache
        return found

    def digest(self, index: int) -> str:
        """Of the source text of a scope's span."""
        return self._parts[4][index * DIGEST : (index + 1) * DIGEST].hex()


_NO_READS = marshal.dumps(((), ()))
