"""Where a step works: the project's folder, its series, and the store in the cache."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from rebasekit.edit.patterns import parse_pattern
from rebasekit.model.hunk import Form, Hunk, Patch, Series
from rebasekit.model.progress import SILENT, Progress
from rebasekit.model.tag import Tag, in_range, parse_range
from rebasekit.patches.load import load
from rebasekit.patches.names import find_hunk, find_patch
from rebasekit.upstream.store import Store


def check_pattern(text: str) -> None:
    """What a patchset's `at` must satisfy: raise ValueError with the reason."""
    parse_pattern(text)


@dataclass(frozen=True)
class Workspace:
    """`root` holds `patchset/` and `upstream-map/`; everything else that is written lies below `cache`."""

    root: Path
    cache: Path

    @property
    def patchset(self) -> Path:
        return self.root / "patchset"

    @cached_property
    def series(self) -> Series:
        """The series as it is on disk; raise PatchsetError with everything that is wrong with it."""
        return load(self.patchset, check=check_pattern).series

    def with_series(self, series: Series) -> Workspace:
        """The same place with another series than the one on disk."""
        other = replace(self)
        vars(other)["series"] = series  # where `cached_property` keeps it
        return other

    @cached_property
    def store(self) -> Store:
        return Store.open(self.cache, self.series.source)

    def ensure(self, tags: set[Tag], progress: Progress = SILENT) -> None:
        """Fetch and store releases, oldest first; raise UpstreamError."""
        for tag in sorted(tags):
            self.store.ensure(tag, progress)

    def hunk(self, name: str) -> Hunk:
        """A hunk by `patch/id` or by an id that only one patch has; raise UsageError with the closest names."""
        return find_hunk(self.series, name)

    def patch(self, name: str) -> Patch:
        """A patch by its name; raise UsageError with the closest names."""
        return find_patch(self.series, name)

    def only(self, names: list[str] | None) -> Series:
        """The series, or some of its patches with what they depend on."""
        if not names:
            return self.series
        wanted: set[str] = set()
        todo = [self.patch(name).name for name in names]
        while todo:
            name = todo.pop()
            if name not in wanted:
                wanted.add(name)
                todo += self.patch(name).depends
        return replace(self.series, patches=tuple(p for p in self.series.patches if p.name in wanted))


def pin_tag(form: Form, base: Tag) -> Tag:
    """The tag that a form was last reviewed on: its pin's, else the first of its range, else the series' base."""
    if form.pin is not None:
        return Tag.parse(form.pin.tag)
    first = first_of(form.tags) if form.tags else None
    return first if first is not None and not in_range(base, form.tags) else base


def first_of(tags: str) -> Tag | None:
    """The tag at which a range begins; None for one that is open below."""
    starts = [s.version for s in parse_range(tags) if s.operator in (">=", "==", "~=", "===")]
    return max((Tag.parse(re.sub(r"\.\*$", "", s)) for s in starts), default=None)
