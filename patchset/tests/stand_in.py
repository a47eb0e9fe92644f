"""An import-only stand-in for torchvision.

SGLang and transformers import it at module level; PyPI's build is for CUDA and fails beside a CPU torch. Nothing
in these tests calls it: every name resolves to a class that refuses to be made.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Sequence


class _Unusable(type):
    """A class of any name with any attribute, so enum members and decorators at import time resolve."""

    def __getattr__(cls, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return _unusable(name)

    def __call__(cls, *args: object, **kwargs: object) -> object:
        raise RuntimeError(f"torchvision is a stand-in here: `{cls.__name__}` was called")


def _unusable(name: str) -> type:
    return _Unusable(name, (), {})


class _Module(types.ModuleType):
    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return _unusable(name)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] != "torchvision":
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = _Module(spec.name)
        module.__version__ = "0.0.0"  # type: ignore[attr-defined]
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def install() -> None:
    if importlib.util.find_spec("torchvision") is None:
        sys.meta_path.append(_Finder())
