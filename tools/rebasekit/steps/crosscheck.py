"""The second opinion on a placement: a three-way merge that knows nothing of anchors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from rebasekit.edit.layout import dedent, plain_ends
from rebasekit.edit.tokens import as_lines, same, tokens
from rebasekit.upstream.merge import Merge, merge3, merge3_lines


@dataclass(frozen=True)
class Agreement:
    """`method` names the merge that gave the anchor's result; empty when none did, then `reason` says why."""

    method: str
    reason: str = ""
    upstreamed: bool = False


@dataclass(frozen=True)
class Sides:
    """A scope at the pin, the same with the hunk, and the scope on the tag: dedented, `\\n` line ends."""

    base: str
    ours: str
    theirs: str

    @classmethod
    def of(cls, base: str, ours: str, theirs: str) -> Sides:
        return cls(plain(base), plain(ours), plain(theirs))

    @cached_property
    def merge(self) -> Merge:
        return merge3(self.base, self.ours, self.theirs, labels=("the hunk", "at the pin", "upstream"))

    @cached_property
    def merged_tokens(self) -> list[str] | None:
        """The merged tokens; None when they conflict or when our change is in comments and layout only."""
        base, ours, theirs = tokens(self.base), tokens(self.ours), tokens(self.theirs)
        if base is None or ours is None or theirs is None or base == ours:
            return None
        runs = merge3_lines(as_lines(base), as_lines(ours), as_lines(theirs))
        if any(run.kind == "conflict" for run in runs):
            return None
        return [word for run in runs for word in run.ours]


def plain(text: str) -> str:
    """A scope's text from column 0 with `\\n` line ends."""
    return dedent(plain_ends(text))


def upstreamed(sides: Sides) -> bool:
    """Whether merging our change into the scope on the tag changes nothing: it is there already."""
    if sides.base == sides.theirs:
        return False
    merge = sides.merge
    if not merge.conflicts:
        return merge.text == sides.theirs
    words = sides.merged_tokens
    theirs = tokens(sides.theirs)
    return words is not None and theirs is not None and words == as_lines(theirs)


def agree(sides: Sides, result: str) -> Agreement:
    """Compare the anchor's result with the merges: by lines, and by tokens where lines conflict.

    A line merge conflicts when upstream changed a line beside ours; a token merge only when it changed the very
    tokens beside ours. Neither looks at anchors.
    """
    result = plain(result)
    merge = sides.merge
    if not merge.conflicts:
        if merge.text == result:
            return Agreement("line merge")
        if same(merge.text, result):
            return Agreement("line merge, but for layout")
        return Agreement("", "the anchor and a line merge put the hunk in different places")
    words = sides.merged_tokens
    if words is None:
        return Agreement("", "upstream changed the same lines")
    have = tokens(result)
    if have is not None and as_lines(have) == words:
        return Agreement("token merge")
    return Agreement("", "upstream changed the same lines, and a merge of tokens puts the hunk elsewhere")
