"""The error for a tag that upstream does not have."""

from __future__ import annotations

from collections.abc import Sequence

from rebasekit.errors import UpstreamError
from rebasekit.model.tag import Tag


def nearest(tag: Tag, tags: Sequence[Tag], count: int = 3) -> list[Tag]:
    """The tags around `tag` in version order: the one above and those below, as many as `count`.

    One that is the same version in other words (`v1.2` for `v1.2.0`) is the only one.
    """
    if same := [other for other in tags if not other < tag and not tag < other]:
        return same
    below = [other for other in sorted(tags) if other < tag]
    above = [other for other in sorted(tags) if tag < other]
    chosen = below[-(count - min(1, len(above))) :] + above[:1]
    return chosen if len(chosen) >= count else (below[-count:] + above[: count - len(below[-count:])])


def unknown_tag(tag: Tag, upstream: str, tags: Sequence[Tag]) -> UpstreamError:
    """`tag` is not among upstream's `tags`; say which are near."""
    near = nearest(tag, tags)
    if not near:
        return UpstreamError(f"`{upstream}` has no release `{tag}`, nor any other")
    names = ", ".join(f"`{other}`" for other in near)
    return UpstreamError(f"`{upstream}` has no release `{tag}`; the nearest are {names}", hint=f"name `{near[-1]}`")
