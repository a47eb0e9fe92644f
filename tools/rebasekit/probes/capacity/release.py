"""What differs between releases, as data. Read from each release's own code; a new release is a new row.

Read and found equal on all of them: cell size, state size, the split of the budget between states and KV cache, the
padding slots, slots per request, the free memory that the budget starts from.
"""

from __future__ import annotations

from dataclasses import dataclass

from rebasekit.errors import UsageError
from rebasekit.model.tag import Tag

MIB = 1 << 20


@dataclass(frozen=True)
class Release:
    """One release, and those after it that changed nothing here."""

    since: Tag
    chunks: tuple[tuple[int, int], ...]
    """Default of --chunked-prefill-size: cards below so many MiB get so many tokens."""
    chunk_beyond: int = 16384
    """The same for larger cards."""
    chunk_unknown: int = 4096
    """The same when the release cannot tell the card's memory."""
    one_request: bool = False
    """Data-parallel ranks get at least one of --max-running-requests each."""
    attn_dp: str = "dp_size"
    """The argument that says how many data-parallel attention ranks there are."""

    def chunk_size(self, card_mib: int | None) -> int:
        """The default chunk for a card of so many MiB."""
        if card_mib is None:
            return self.chunk_unknown
        return next((chunk for below, chunk in self.chunks if card_mib < below), self.chunk_beyond)


_GIB = 1024
_SMALL = ((20 * _GIB, 2048), (35 * _GIB, 2048), (60 * _GIB, 4096), (160 * _GIB, 8192))
_SINCE_20 = ((20 * _GIB, 2048), (60 * _GIB, 4096), (160 * _GIB, 8192))

RELEASES = (
    Release(Tag("v0.5.19"), _SMALL),
    Release(Tag("v0.5.20"), _SINCE_20),
    Release(Tag("v0.5.22"), _SINCE_20, attn_dp="attn_dp_size"),
    Release(Tag("v0.5.23"), _SINCE_20, attn_dp="attn_dp_size", one_request=True),
)
NEWEST_READ = Tag("v0.5.23")


def release_of(tag: Tag) -> Release:
    """The row that holds for `tag`; raise UsageError for a release older than all of them."""
    rows = [row for row in RELEASES if not tag < row.since]
    if not rows:
        raise UsageError(f"`{tag}` is older than {RELEASES[0].since}, the first release whose formulas are known")
    return rows[-1]
