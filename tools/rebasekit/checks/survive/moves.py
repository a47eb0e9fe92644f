"""Where an API went that is no longer in its place."""

from __future__ import annotations

import difflib
from collections import Counter
from dataclasses import dataclass

from rebasekit.checks.survive.api import Api
from rebasekit.checks.survive.catalog import Catalog

_OWN = 3  # modules that may declare a name which is still somebody's own


@dataclass(frozen=True)
class Move:
    """`to` is how the API is reached now; a `guess` is only a new name that looks like the old one."""

    to: str
    api: Api
    through: str = ""  # the class that has it now, when it is reached through an attribute
    guess: bool = False


class Moves:
    """Compares two trees; remembers what it found per API."""

    def __init__(self, old: Catalog, new: Catalog) -> None:
        self.old, self.new = old, new
        self._known: dict[Api, Move | None] = {}

    def find(self, api: Api) -> Move | None:
        """The one place to which the API moved; None when there is none, or more than one that is as good."""
        if api not in self._known:
            self._known[api] = self._find(api)
        return self._known[api]

    def _find(self, api: Api) -> Move | None:
        if not api.name:
            module = self._module(api.module)
            return Move(module, Api(module)) if module else None
        if api.owner:
            return self._member(api)
        return self._top(api)

    # modules

    def _module(self, module: str) -> str | None:
        """The module in which most of the old one's definitions are now."""
        index = self.old.facts.program.modules.get(module)
        if index is None:
            return None
        votes: Counter[str] = Counter()
        names = self.old.facts.program.file(index).children.get(0, {})
        for name in names:
            for place in self._new_places(name):
                votes[place.module] += 1
        best = votes.most_common(2)
        if not best or (len(best) > 1 and best[0][1] == best[1][1]) or best[0][1] * 3 < len(names):
            return None
        return best[0][0]

    # top-level names

    def _top(self, api: Api) -> Move | None:
        places = self._new_places(api.name)
        if not places:
            places = self._globals(api)
        if len(places) > 1:
            places = self._alike(api, places) or places
        if len(places) != 1:
            return self._renamed_top(api) if not places else None
        return Move(places[0].dotted, places[0])

    def _new_places(self, name: str) -> list[Api]:
        """Top-level definitions of the new tree that the old one did not have."""
        facts = self.new.facts
        found = []
        for scope in facts.definitions(name):
            if "." in facts.program.scope(scope).name or facts.settings.test_pattern.search(facts.path(scope)):
                continue
            api = Api(facts.program.file_of(scope).module, "", name)
            before = self.old.facts.program.modules.get(api.module)
            # A definition that was there already is no move: three twins stay three twins when one goes.
            if before is None or name not in self.old.facts.program.file(before).children.get(0, {}):
                found.append(api)
        return list(dict.fromkeys(found))

    def twin(self, api: Api) -> str:
        """The only other top-level definition of that name, which was there before; empty when there is not one."""
        facts = self.new.facts
        found = {
            facts.dotted(scope)
            for scope in facts.definitions(api.name)
            if "." not in facts.program.scope(scope).name and not facts.settings.test_pattern.search(facts.path(scope))
        }
        return found.pop() if len(found) == 1 else ""

    def _globals(self, api: Api) -> list[Api]:
        """Where the new tree's users of a module-level name get it from."""
        facts = self.new.facts
        declaring = [scope for scope in facts.declarations(api.name) if not facts.program.scope(scope).name]
        if len(declaring) > _OWN:  # `logger` is in a thousand modules: it moved if its module did
            place = Api(self._module(api.module) or "", "", api.name)
            return [place] if place.module and self.new.find(place) and self.old.find(place) is None else []
        found: dict[Api, None] = {}
        for scope in facts.mentions(api.name):
            for entity in facts.resolver.name(scope, api.name):
                if entity.kind == "global" and not entity.rest:
                    place = Api(facts.program.file(entity.scope).module, "", entity.name)
                    if place.module != api.module and self.old.find(place) is None:
                        found[place] = None
        return list(found)

    def _alike(self, api: Api, places: list[Api]) -> list[Api]:
        """Those whose text is the same as the old definition's, else those in the same package."""
        before = self.old.find(api)
        digests = {self.old.facts.program.scope(s).digest for s in before.scopes} if before else set()
        same = []
        for place in places:
            found = self.new.find(place)
            if found and any(self.new.facts.program.scope(s).digest in digests for s in found.scopes):
                same.append(place)
        package = api.module.rpartition(".")[0]
        return same or [place for place in places if place.module.rpartition(".")[0] == package]

    def _renamed_top(self, api: Api) -> Move | None:
        """A new definition of the same module whose name looks like the old one."""
        index = self.new.facts.program.modules.get(api.module)
        before = self.old.find(api)
        if index is None or before is None or not before.scopes:
            return None
        file = self.new.facts.program.file(index)
        old_names = set(self.old.facts.program.file_of(before.scopes[0]).children.get(0, {}))
        fresh = [n for n in file.children.get(0, {}) if n not in old_names]
        close = difflib.get_close_matches(api.name, fresh, 1, 0.75)
        place = Api(api.module, "", close[0]) if close else None
        return Move(place.dotted, place, guess=True) if place else None

    # members

    def _member(self, api: Api) -> Move | None:
        owner = self.new.owner_class(api)
        if owner is None:
            outer, _, last = api.owner.rpartition(".")
            moved = self.find(Api(api.module, outer, last))
            if moved is None:
                return None
            place = Api(moved.api.module, ".".join(p for p in (moved.api.owner, moved.api.name) if p), api.name)
            return Move(f"{moved.to}.{api.name}", place) if self.new.find(place) else None
        return self._into_attribute(api, owner) or self._to_class(api, owner) or self._renamed(api, owner)

    def _into_attribute(self, api: Api, owner: int) -> Move | None:
        """`Req.x` became `Req.kv.x`: an object that the class holds has it now, and had not before."""
        found: list[tuple[str, Api]] = []
        for attribute in sorted(self.new.members.names(owner)):
            for class_id in self.new.receivers.attribute((owner,), attribute):
                if class_id == owner or self.new.members.member(class_id, api.name) is None:
                    continue
                place = self.new.members.api(class_id, api.name)
                if self.old.owner_class(place) is None or self.old.find(place) is None:
                    found.append((attribute, place))
        options = {place: attribute for attribute, place in reversed(found)}
        if len(options) != 1:
            return None
        (place, attribute), *_ = options.items()
        return Move(f"{api.owner}.{attribute}.{api.name}", place, place.owner)

    def _to_class(self, api: Api, owner: int) -> Move | None:
        """A method that another class has now, and had not before: one of the same module or family first."""
        facts = self.new.facts
        near: list[Api] = []
        for scope in facts.definitions(api.name):
            class_id = facts.program.enclosing_class(scope)
            if class_id is None or facts.settings.test_pattern.search(facts.path(scope)):
                continue
            place = self.new.members.api(class_id, api.name)
            before = self.old.owner_class(place)
            if before is not None and self.old.members.own(before, api.name) is not None:
                continue
            if place.module == api.module or class_id in facts.hierarchy.subclasses(owner):
                near.append(place)
        near = list(dict.fromkeys(near))
        return Move(near[0].dotted, near[0]) if len(near) == 1 else None

    def _renamed(self, api: Api, owner: int) -> Move | None:
        """A new member of the class with nearly the same name."""
        before = self.old.owner_class(api)
        if before is None:
            return None
        fresh = self.new.members.names(owner) - self.old.members.names(before)
        plain = {name.strip("_"): name for name in fresh}
        exact = plain.get(api.name.strip("_"))
        close = [exact] if exact else difflib.get_close_matches(api.name, sorted(fresh), 1, 0.8)
        if not close:
            return None
        place = Api(api.module, api.owner, close[0])
        return Move(place.short, place, guess=not exact)
