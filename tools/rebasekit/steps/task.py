"""Which hunk is being resolved, on which release, and where."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rebasekit.errors import UsageError
from rebasekit.model.hunk import Hunk
from rebasekit.model.tag import Tag
from rebasekit.steps.accept import newest
from rebasekit.steps.workspace import Workspace
from rebasekit.steps.worktree import Worktree, default_folder


@dataclass(frozen=True)
class Task:
    """What is to be resolved: this hunk on this tag, in this folder."""

    hunk: Hunk
    tag: Tag
    folder: Path

    @classmethod
    def of(cls, space: Workspace, name: str | None, tag: Tag | None) -> Task:
        """By name; without one, by the worktree that the current folder lies in."""
        here = Worktree.at(Path.cwd())
        here = here if here and here.hunk and Path(here.root) == space.root.resolve() else None
        if name is None and here is None:
            raise UsageError("this folder is no worktree of `rebasekit resolve`", hint="rebasekit resolve HUNK")
        hunk = space.hunk(name or (here.hunk if here else ""))
        if tag is None and here is not None and here.hunk == hunk.name:
            tag = Tag.parse(here.tag)
        tag = tag or opened_tag(space, hunk) or newest(space)
        return cls(hunk, tag, default_folder(space, "resolve", hunk.name, tag))

    def opened(self) -> Worktree:
        tree = Worktree.at(self.folder) if self.folder.is_dir() else None
        if tree is None or tree.folder != self.folder:
            raise UsageError(
                f"`{self.hunk.name}` has no open worktree for {self.tag}",
                hint=f"rebasekit resolve {self.hunk.name} --tag {self.tag}",
            )
        return tree

    def again(self, option: str) -> str:
        return f"rebasekit resolve {self.hunk.name} --tag {self.tag} {option}"


def opened_tag(space: Workspace, hunk: Hunk) -> Tag | None:
    """The tag of the hunk's only open worktree."""
    base = default_folder(space, "resolve", hunk.name, space.series.base).parent
    trees = [tree for folder in sorted(base.glob("*")) if (tree := Worktree.at(folder)) and tree.hunk == hunk.name]
    return Tag.parse(trees[0].tag) if len(trees) == 1 else None
