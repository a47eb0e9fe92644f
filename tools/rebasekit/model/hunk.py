"""Patches and hunks as they stand in `patchset/`."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field, replace

from packaging.specifiers import SpecifierSet

from rebasekit.model.tag import Tag, in_range


class Place(enum.Enum):
    """How a hunk's lines relate to its anchor."""

    BEFORE = "before"
    AFTER = "after"
    REPLACE = "replace"
    DELETE = "delete"
    FIRST = "first"
    LAST = "last"
    ELEMENT = "element"
    ARGUMENT = "argument"
    PARAMETER = "parameter"
    BASE = "base"
    IMPORT = "import"
    NEW_FILE = "new-file"
    EDIT = "edit"
    TEXT = "text"


@dataclass(frozen=True)
class Pin:
    """What was true when a person last reviewed the hunk.

    `scope` and `anchor` are digests of the scope's and of the anchor's source at `tag`; `depth` is the block
    depth of the anchor below its scope. `file` and `scope_name` are where the hunk stood on that tag when this
    differs from the form (a move that the tool followed).
    """

    tag: str
    scope: str
    anchor: str = ""
    depth: int | None = None
    file: str | None = None
    scope_name: str | None = None


@dataclass(frozen=True)
class Form:
    """What a hunk is on some range of tags: where it goes, and our lines.

    `lines` holds our text dedented to column 0 with `\\n` line ends, exactly as in the body file or the inline
    key. For `edit` and `text` it is the edit script (see `rebasekit.edit.script`).
    """

    file: str
    scope: str
    place: Place
    at: str = ""
    count: int = 1
    lines: str = ""
    body: str | None = None  # name of the body file, None for inline lines
    to: str = ""  # place-specific target: the parameter after which ours goes, …
    keep_newlines: bool = False  # the body's line ends are used as they are
    mode: str = ""  # "executable" for a new file that has the bit
    uses: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    relies: tuple[str, ...] = ()
    tags: str | None = None  # range of tags, None for all
    pin: Pin | None = None


@dataclass(frozen=True)
class Hunk:
    """One edit of a patch. `forms` are its base form, then its variants in file order.

    `idle` says why the smoke cannot reach the hunk; without it, a hunk that never ran is a failure there.
    """

    patch: str
    id: str
    forms: tuple[Form, ...]
    decision: str = ""
    why: str = ""
    idle: str = ""

    @property
    def name(self) -> str:
        """The hunk's name on the command line: `patch/id`."""
        return f"{self.patch}/{self.id}"

    def form_for(self, tag: Tag) -> tuple[int, Form] | None:
        """The form (with its index) that applies to `tag`: the last whose range holds it; None when none does."""
        found = None
        for index, form in enumerate(self.forms):
            if in_range(tag, form.tags):
                found = (index, form)
        return found

    def with_form(self, index: int, form: Form) -> Hunk:
        return replace(self, forms=(*self.forms[:index], form, *self.forms[index + 1 :]))


@dataclass(frozen=True)
class Patch:
    """A folder of `patchset/`."""

    name: str
    title: str
    why: str
    removal: str
    origin: str = ""
    forwarded: str = "no"
    depends: tuple[str, ...] = ()
    hunks: tuple[Hunk, ...] = ()


@dataclass(frozen=True)
class UpstreamSource:
    """Where releases come from: `kind` is `pypi` (package) or `git` (url and prefix).

    `link` is the address of a line of a release's source for readers, with `{tag}`, `{file}` and `{line}`.
    """

    kind: str
    package: str = ""
    url: str = ""
    prefix: str = ""
    link: str = ""


@dataclass(frozen=True)
class Series:
    """`patchset/`: the patches in order, the base tag, the upstream source and the deployment's facts."""

    base: Tag
    source: UpstreamSource
    patches: tuple[Patch, ...]
    entries: tuple[str, ...] = ()
    deployment: dict[str, object] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    requires_python: str = ""  # range of Python versions that the deployment runs

    @property
    def known(self) -> dict[str, object]:
        """What is true on this deployment, by name: its facts, and its environment over them."""
        return {**self.deployment, **self.environment}

    def runs(self, python: str) -> bool:
        """Whether the deployment runs that version of Python, by `requires-python`."""
        return SpecifierSet(self.requires_python).contains(python, prereleases=True)

    def hunks(self) -> tuple[Hunk, ...]:
        """All hunks in the order in which they apply."""
        return tuple(hunk for patch in self.patches for hunk in patch.hunks)
