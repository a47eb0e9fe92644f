"""Folders in which people change the tree instead of hunk files."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from rebasekit.errors import StateError, UsageError
from rebasekit.model.tag import Tag
from rebasekit.steps.workspace import Workspace
from rebasekit.upstream.paths import refuse

STATE = ".git/rebasekit.json"
_RUBBISH = re.compile(r".*(~|\.py[co]|\.orig|\.rej|\.bak|\.sw[a-p])|\.#.*|#.*#|\..*")


@dataclass(frozen=True)
class Worktree:
    """A folder opened by `edit` or `resolve`: whose it is, and for what."""

    folder: Path
    root: str
    patch: str
    tag: str
    hunk: str = ""
    title: str = ""
    why: str = ""
    removal: str = ""
    key: str = ""  # the conflict that is being resolved
    base: str = ""  # the commit that a person's changes are told from: as opened, or what is below the patch

    def save(self) -> None:
        data = {key: value for key, value in asdict(self).items() if key != "folder"}
        (self.folder / STATE).write_text(json.dumps(data, indent=1))

    @classmethod
    def at(cls, folder: Path) -> Worktree | None:
        """The worktree that `folder` is, or lies in; None when it is none."""
        for place in (folder, *folder.parents):
            try:
                return cls(folder=place, **json.loads((place / STATE).read_text()))
            except (FileNotFoundError, NotADirectoryError):
                continue
            except (ValueError, TypeError):
                raise StateError(f"`{place / STATE}` is damaged", hint=f"rm -r {place}") from None
        return None


def default_folder(space: Workspace, kind: str, name: str, tag: Tag) -> Path:
    """Where worktrees go when nobody says otherwise: one per project, patch and tag."""
    project = f"{space.root.name}-{hashlib.sha256(str(space.root.resolve()).encode()).hexdigest()[:8]}"
    return space.cache / kind / project / f"{name.replace('/', '-')}-{tag}"


def note_folder(space: Workspace, tree: Worktree) -> None:
    """Remember a worktree that the user placed, so that its patch's name is enough to find it."""
    usual = default_folder(space, "edit", tree.patch, Tag.parse(tree.tag))
    if tree.folder != usual:
        link = usual.with_name(f"{usual.name}.at")
        link.parent.mkdir(parents=True, exist_ok=True)
        link.write_text(str(tree.folder))


def opened(space: Workspace, patch: str) -> list[Worktree]:
    """The patch's open worktrees, wherever they are."""
    base = default_folder(space, "edit", patch, space.series.base).parent
    places = [Path(p.read_text()) if p.suffix == ".at" and p.is_file() else p for p in sorted(base.glob(f"{patch}-*"))]
    found = [tree for place in places if (tree := Worktree.at(place)) and tree.folder == place]
    return [tree for tree in found if tree.patch == patch and not tree.hunk]


def find(space: Workspace, patch: str | None) -> Worktree:
    """The worktree to refresh from: the one that the current folder lies in, or the patch's only open one."""
    here = Worktree.at(Path.cwd())
    if here and here.hunk:
        raise UsageError(
            f"this is a worktree of `rebasekit resolve {here.hunk}`", hint=f"rebasekit resolve {here.hunk} --continue"
        )
    if here and patch in (None, here.patch):
        return here
    if patch is None:
        raise UsageError("this folder is no worktree of `rebasekit edit`", hint="rebasekit refresh PATCH")
    trees = opened(space, patch)
    if len(trees) == 1:
        return trees[0]
    if trees:
        raise UsageError(f"`{patch}` has {len(trees)} open worktrees", hint=f"cd {trees[0].folder}")
    name = space.patch(patch).name
    raise UsageError(f"`{name}` has no open worktree", hint=f"rebasekit edit {name}")


@dataclass(frozen=True)
class Found:
    """A file of a worktree that is not as it was opened; `data` is None for one that is gone."""

    path: str
    data: bytes | None
    executable: bool = False


def changed_files(
    space: Workspace, folder: Path, tag: Tag, patched: Mapping[str, bytes | None], modes: Mapping[str, str]
) -> list[Found]:
    """Files that differ from the release with `patched` laid over it; `modes` are of the files that it adds.

    Raises StateError for what no hunk can say: links, other modes of upstream's files, names that git refuses.
    """
    if not folder.is_dir():
        raise StateError(f"`{folder}` is gone", hint="rebasekit edit PATCH")
    ids, known_modes = space.store.files(tag), {**space.store.modes(tag), **modes}
    known = {path for path in ids if patched.get(path, b"") is not None}
    known |= {path for path, data in patched.items() if data is not None}
    found, seen = [], set()
    for path in _walk(folder, known):
        seen.add(path)
        full = folder / path
        data, executable = full.read_bytes(), bool(full.stat().st_mode & stat.S_IXUSR)
        same = path in known and (patched[path] == data if path in patched else ids[path] == _blob_id(data, ids[path]))
        turned = path in known and executable != (known_modes.get(path, "100644") == "100755")
        if turned and path in ids:
            bit = "+x" if known_modes[path] == "100755" else "-x"
            raise StateError(
                f"the mode of `{path}` changed, which cannot be carried for a file of upstream's",
                hint=f"chmod {bit} {full}",
            )
        if same and not turned:
            continue
        if reason := refuse(path):
            raise StateError(f"`{path}` cannot be carried: it has {reason}")
        found.append(Found(path, data, executable))
    return sorted([*found, *(Found(path, None) for path in known - seen)], key=lambda f: f.path)


def _blob_id(data: bytes, like: str) -> str:
    hasher = hashlib.sha1 if len(like) == 40 else hashlib.sha256
    return hasher(b"blob %d\0" % len(data) + data).hexdigest()


def _walk(folder: Path, known: set[str]) -> Iterator[str]:
    """Paths of all files but those that nobody means to carry: caches, backups, hidden folders of tools."""
    holding = {path.rpartition("/")[0] for path in known}
    for base, folders, names in os.walk(folder):
        top = Path(base).relative_to(folder).as_posix().removeprefix(".").removeprefix("/")
        prefix = f"{top}/" if top else ""
        for name in [name for name in folders if (Path(base) / name).is_symlink()]:
            raise StateError(f"`{prefix}{name}` is a link, which cannot be carried", hint=f"rm {Path(base) / name}")
        folders[:] = sorted(
            name
            for name in folders
            if (prefix or name != ".git")
            and (
                not (name == "__pycache__" or name.startswith(".")) or any(h.startswith(prefix + name) for h in holding)
            )
        )
        for name in sorted(names):
            path = prefix + name
            if path not in known and _RUBBISH.fullmatch(name) and name not in (".gitignore", ".gitattributes"):
                continue
            if (Path(base) / name).is_symlink():
                raise StateError(f"`{path}` is a link, which cannot be carried", hint=f"rm {Path(base) / name}")
            yield path
