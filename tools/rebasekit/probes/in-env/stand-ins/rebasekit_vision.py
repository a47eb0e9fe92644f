"""torchvision where only a build for another torch can be had: importable, and nothing in it can be used.

Installed only when the environment has no torchvision of its own.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types

NAME = "torchvision"


class Refusing(type):
    """Any attribute of it is another of its kind, so that class bodies and decorators of import time get through."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Refusing(name, (), {})

    def __call__(cls, *args, **kwargs):
        raise RuntimeError(f"`{NAME}` is a stand-in on this machine, and `{cls.__name__}` was called")


class Hollow(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Refusing(name, (), {})


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, fullname, path=None, target=None):
        mine = fullname == NAME or fullname.startswith(NAME + ".")
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True) if mine else None

    def create_module(self, spec):
        module = Hollow(spec.name)
        module.__version__ = "0.0.0"
        return module

    def exec_module(self, module):
        pass


def install():
    """Returns whether the stand-in is in place."""
    if importlib.util.find_spec(NAME) is not None:
        return False
    sys.meta_path.append(Finder())
    return True
