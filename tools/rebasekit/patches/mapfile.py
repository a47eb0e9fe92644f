"""Reading `upstream-map/<tag>.toml`."""

from __future__ import annotations

from pathlib import Path

from rebasekit.model.finding import Finding
from rebasekit.model.placement import Outcome
from rebasekit.model.tag import Tag
from rebasekit.patches.files import MEGABYTE, Files
from rebasekit.patches.maps import SCHEMA, MapEntry, TagMap, map_path
from rebasekit.patches.paths import name_problem
from rebasekit.patches.problems import Problems
from rebasekit.patches.ranges import read_tag
from rebasekit.patches.recovery import reading
from rebasekit.patches.table import Table
from rebasekit.patches.toml import read_toml


def load_map(root: Path, tag: Tag) -> TagMap | None:
    """The map of `tag` below `root` (the folder of `upstream-map/`); None when there is none."""
    root = root.resolve()
    with reading(root):
        files = Files(root)
        return read_map(files, tag) if files.exists(map_path(tag)) else None


def read_map(files: Files, tag: Tag) -> TagMap:
    """Read and validate a map; raise PatchsetProblems."""
    problems, shown = Problems(), map_path(tag)
    data = read_toml(files, shown, shown, problems, limit=16 * MEGABYTE)
    problems.check()
    assert data is not None
    table = Table(data, shown, problems)
    table.number("schema", SCHEMA, SCHEMA, required=True)
    named, base = read_tag(table, "tag"), read_tag(table, "base")
    if named is not None and named != tag:
        table.problem("tag", f"`{named}` is not the file's name")
    hunks = [_read_entry(Table(raw, f"{shown}: hunk {number}", problems)) for number, raw in _numbered(table, "hunk")]
    own = tuple(_read_finding(Table(raw, f"{shown}: finding {n}", problems)) for n, raw in _numbered(table, "finding"))
    series, tool = table.text("series", required="series" not in data), table.text("tool", required=True)
    table.close()
    problems.check()
    return TagMap(tag.name, base.name if base else "", series, tool, tuple(hunks), own)


def _numbered(table: Table, key: str) -> list[tuple[int, dict[str, object]]]:
    return list(enumerate(table.tables(key), 1))


def _read_entry(table: Table) -> MapEntry:
    patch, ident = (table.text(key, required=True, check=name_problem) for key in ("patch", "id"))
    placement = table.choice("placement", tuple(o.value for o in Outcome), required=True, default="missing")
    numbers = {key: table.number(key, 0, 10**9) for key in ("line", "lines")}
    texts = {
        key: table.raw(key) or "" for key in ("file", "scope", "method", "reason", "remembered", "churn", "decision")
    }
    findings = tuple(
        _read_finding(Table(raw, f"{table.where}: finding {number}", table.problems), patch, ident)
        for number, raw in _numbered(table, "finding")
    )
    table.close()
    return MapEntry(patch, ident, Outcome(placement), findings=findings, **numbers, **texts)  # type: ignore[arg-type]


def _read_finding(table: Table, patch: str = "", hunk: str = "") -> Finding:
    kind, line = table.text("kind", required=True), table.number("line", 0, 10**9)
    texts = [table.raw(key) or "" for key in ("file", "message", "next")]
    owner = [table.raw(key) if table.has(key) else default for key, default in (("patch", patch), ("hunk", hunk))]
    table.close()
    return Finding(kind, texts[0], line, texts[1], texts[2], owner[0] or "", owner[1] or "")
