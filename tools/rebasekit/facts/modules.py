"""Modules that run because they are imported, named in strings, or found in a package that is scanned."""

from __future__ import annotations

from rebasekit.facts.demands import Demands
from rebasekit.facts.hierarchy import Hierarchy
from rebasekit.facts.marks import Origin
from rebasekit.facts.program import Program
from rebasekit.facts.programs import HOME
from rebasekit.facts.resolve import Resolver
from rebasekit.facts.settings import Settings


class Modules(Demands):
    """What importing and scanning makes run."""

    def __init__(self, program: Program, resolver: Resolver, hierarchy: Hierarchy, settings: Settings) -> None:
        super().__init__(program, resolver, hierarchy, settings)
        self._scans = False
        self._packages: dict[str, Origin] = {}  # named in strings by running code, not scanned yet

    def import_module(self, module: str, origin: Origin) -> None:
        """Importing a module runs it and every package above it."""
        while module:
            index = self.program.modules.get(module)
            if index is not None and len(self.program.file(index)):  # nothing is known of one that was not read
                if self.state[self.program.first[index]]:
                    return
                self.mark(self.program.first[index], origin)
            module = module.rpartition(".")[0]

    def guess_module(self, index: int, origin: Origin) -> None:
        """A string names a module: if serving's own code does, it knows that package, as by an import."""
        owner = self._owners[index]
        if owner != HOME and self._asker(origin) == HOME:
            self._owners = [HOME if name == owner else name for name in self._owners]
            for name, asked in self._demanded.items():
                for scope in self.method_names.get(name, ()):
                    if scope in self._effective:
                        self.guess(scope, next(iter(asked.values())))
        if len(self.program.file(index)):
            self.guess(self.program.first[index], origin)

    def scan_package(self, package: str, origin: Origin) -> None:
        """A string names a package: whoever imports all modules of some package may import these."""
        self._packages.setdefault(package, origin)
        if self._scans:
            self.scan_packages()

    def scan_packages(self, _origin: Origin = (-1, 0)) -> None:
        self._scans = True
        packages, self._packages = self._packages, {}
        for package, origin in packages.items():
            for module, index in self.program.modules.items():
                if module.rpartition(".")[0] == package and len(self.program.file(index)):
                    self.guess_module(index, origin)
