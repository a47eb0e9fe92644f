"""Reading one hunk: each use on its lines, judged."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from rebasekit.checks.survive.api import Api, NotRead
from rebasekit.checks.survive.bases import base_troubles
from rebasekit.checks.survive.catalog import Catalog
from rebasekit.checks.survive.choices import accepted
from rebasekit.checks.survive.hunks import Sight, UsedHunk
from rebasekit.checks.survive.judge import GONE, Judge, Trouble
from rebasekit.checks.survive.listed import listed
from rebasekit.checks.survive.meaning import Meaning, by_name, meaning
from rebasekit.checks.survive.nowhere import Nowhere
from rebasekit.checks.survive.overrides import override_troubles
from rebasekit.checks.survive.refs import to_ref
from rebasekit.checks.survive.sites import Site, SiteReader, table_key
from rebasekit.model.finding import Finding


@dataclass
class Reader:
    """Collects what is wrong in one hunk; equal troubles become one finding."""

    hunk: UsedHunk
    judge: Judge
    nowhere: Nowhere
    checked: int = 0
    unresolved: int = 0
    apis: set[str] = field(default_factory=set)
    _found: dict[tuple[str, str], tuple[int, str, int]] = field(default_factory=dict)

    def run(self) -> list[Finding]:
        old = self.hunk.old or self.hunk.new
        sites = self._read(self.judge.old, old)
        pairs: list[Site | None] = [None] * len(sites.sites) if sites else []
        fresh = self._read(self.judge.new, self.hunk.new) if self.hunk.new and self.hunk.old else None
        if sites and fresh and sites.words() == fresh.words():
            pairs = list(fresh.sites)
        for site, other in zip(sites.sites if sites else (), pairs, strict=True):
            self._try(self._line(site, other), lambda a=site, b=other: self._site(a, b))
        for dotted in self.hunk.uses:
            self._try(self._line(None, None), lambda d=dotted: self._listed(d))
        return [self._finding(kind, *rest) for (kind, _api), rest in self._found.items()]

    def _read(self, catalog: Catalog, sight: Sight | None) -> SiteReader | None:
        if sight is None or not sight.file.endswith((".py", ".pyi")):
            return None
        reader: list[SiteReader] = []

        def read() -> Iterator[Trouble]:
            file = catalog.file(sight.file)
            if file is None:
                raise NotRead(sight.file, "it is not among the files that were read")
            first = catalog.facts.program.first[file.index]
            reader.append(SiteReader(sight.file, sight.source, sight.lines, file, first))
            return iter(())

        self._try(sight.lines[0] if sight.lines else 0, read)
        return reader[0] if reader else None

    def _line(self, site: Site | None, other: Site | None) -> int:
        """A line of the new tree; the hunk's first when the use's own is not known there."""
        if other is not None:
            return other.line
        if self.hunk.new is None:
            return 0
        lines = self.hunk.new.lines
        if site is not None and self.hunk.old is not None and len(self.hunk.old.lines) == len(lines):
            return lines[self.hunk.old.lines.index(site.line)] if site.line in self.hunk.old.lines else lines[0]
        return lines[0] if lines else 0

    def _try(self, line: int, ask: object) -> None:
        assert callable(ask)
        try:
            for trouble in ask():
                self._note(trouble, line)
        except NotRead as missing:
            text = f"`{missing.path}` could not be read, so its APIs are not checked: {missing.reason}"
            self._note(Trouble("unread", missing.path, text), line)

    def _note(self, trouble: Trouble, line: int) -> None:
        key = (trouble.kind, trouble.api)
        first, message, count = self._found.get(key, (line, trouble.message, 0))
        self._found[key] = (first, message, count + 1)

    def _finding(self, kind: str, line: int, message: str, count: int) -> Finding:
        sight = self.hunk.new or self.hunk.old
        more = f" ({count} places)" if count > 1 else ""
        name = f"{self.hunk.patch}/{self.hunk.id}"
        do = f"rebasekit show {name}" if kind == "unread" else f"rebasekit edit {self.hunk.patch}"
        return Finding(kind, sight.file if sight else "", line, message + more, do, self.hunk.patch, self.hunk.id)

    # one use

    def _site(self, site: Site, other: Site | None) -> Iterator[Trouble]:
        node = site.node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from override_troubles(self.judge, site, other)
        elif isinstance(node, ast.ClassDef):
            yield from base_troubles(self.judge, site, other)
        elif isinstance(node, ast.Subscript):
            yield from self._keyed(node, site, other)
        elif isinstance(node, ast.Compare):
            yield from self._compared(node, site, other)
        else:
            yield from self._used(site, other)

    def _used(self, site: Site, other: Site | None) -> Iterator[Trouble]:
        was = meaning(self.judge.old, site)
        is_call = isinstance(site.node, ast.Call)
        if was.api is None or was.found is None:
            if not is_call:  # what it calls is a site of its own
                self.unresolved += not was.known or (was.api is not None and was.bound)
            if was.api is not None and not was.bound and was.found is None and not site.spared:
                yield from self._never(was.api)
            if not was.known or was.api is not None:
                yield from self._nowhere(site.node)
            return
        self.checked += not is_call
        self.apis.add(was.api.dotted)
        now = self._now(was, other)
        found, trouble = self.judge.existence(was, now)
        if found is None and trouble is None:
            self.unresolved += not is_call
            yield from self._nowhere(site.node)
        if trouble is not None:
            # The call's name is reported where it stands.
            yield from () if is_call and not by_name(site.node) else (trouble,)
        elif found is not None and isinstance(site.node, ast.Call):
            if not by_name(site.node):
                yield from self.judge.call(site.node, was, found)
                yield from self.judge.unpacked(site.unpacked, was, found)
        elif found is not None and isinstance(site.node, (ast.Name, ast.Attribute)):
            yield from self.judge.changes(was, found, site.node, site.called)

    def _nowhere(self, node: ast.AST) -> Iterator[Trouble]:
        if isinstance(node, ast.Attribute) and self.nowhere.gone(node.attr):
            yield Trouble(GONE, node.attr, f"nothing in {self.judge.tag} has a `{node.attr}` any more")

    def _listed(self, dotted: str) -> Iterator[Trouble]:
        api = self.judge.old.parse_dotted(dotted)
        if api is not None and self.judge.old.find(api) is not None:
            self.checked += 1
            self.apis.add(api.dotted)
        return listed(self.judge, dotted)

    def _now(self, was: Meaning, other: Site | None) -> Meaning | None:
        """What the same node means in the new tree; an import is judged by its place alone."""
        return meaning(self.judge.new, other) if other is not None and was.bound else None

    def _never(self, api: Api) -> Iterator[Trouble]:
        """Our own import of something that the tree of the pin has not either."""
        program = self.judge.new.facts.program
        known = api.module in program.modules or api.module in program.packages
        if not known and self.nowhere.imported(api.module):
            self.unresolved += 1  # upstream imports it too: a compiled module, most likely
        elif self.judge.new.find(api) is None:
            text = f"`{api.dotted}` is not in {self.judge.tag}"
            yield Trouble(GONE, api.dotted, text)

    def _keyed(self, node: ast.Subscript, site: Site, other: Site | None) -> Iterator[Trouble]:
        """`TABLE["key"]` of a table that upstream spells out."""
        here = replace(site, node=node.value)
        was = meaning(self.judge.old, here)
        now = meaning(self.judge.new, replace(other, node=node.value)) if other is not None else was
        if was.found is not None and now.found is not None and was.found.kind == now.found.kind == "global":
            yield from self.judge.key(table_key(node), was.found.api, now.found.api)

    def _compared(self, node: ast.Compare, site: Site, other: Site | None) -> Iterator[Trouble]:
        """`x.mode == "name"`: is that still a value of `mode`?"""
        sides = [node.left, *node.comparators]
        words = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
        for side in sides if words else ():
            if isinstance(side, (ast.Attribute, ast.Name)):
                before = self._accepted(self.judge.old, site, side)
                after = self._accepted(self.judge.new, other, _same_side(node, side, other)) if other else None
                for word in words:
                    yield from self.judge.choice(word, before, after, f"`{ast.unparse(side)}`")

    def _accepted(self, catalog: Catalog, site: Site, side: ast.expr) -> frozenset[str] | None:
        for scope, text in catalog.receivers.notes(site.scope, to_ref(side)):
            found = accepted(catalog.facts, scope, text)
            if found:
                return found
        return None


def _same_side(node: ast.Compare, side: ast.expr, other: Site) -> ast.expr:
    """The part of the paired node that stands where `side` stands."""
    assert isinstance(other.node, ast.Compare)
    position = [node.left, *node.comparators].index(side)
    return [other.node.left, *other.node.comparators][position]
