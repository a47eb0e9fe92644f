"""Reading and writing `patchset/` and `upstream-map/`.

Reading gives the frozen data of `rebasekit.model` or one error that lists every problem. Writing goes through a
transaction: the next reader finds the old state or the new one, whatever happened in between.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rebasekit.patches.digest import series_digest
    from rebasekit.patches.editor import Editor
    from rebasekit.patches.load import Loaded, load_patch, load_series
    from rebasekit.patches.mapfile import load_map
    from rebasekit.patches.maps import MapEntry, TagMap, dump_map, map_path
    from rebasekit.patches.moves import PATH as MOVES_PATH
    from rebasekit.patches.moves import Location, Move, add_move, load_moves
    from rebasekit.patches.problems import PatchsetProblems, Warned
    from rebasekit.patches.recovery import reading, recover
    from rebasekit.patches.resolutions import (
        Resolution,
        dump_resolution,
        load_resolution,
        load_resolutions,
        resolution_path,
    )
    from rebasekit.patches.transaction import Transaction

# Where each name is: a command that asks one question does not pay for reading and writing everything.
_MODULES = {
    "Editor": ("editor", "Editor"),
    "Loaded": ("load", "Loaded"),
    "Location": ("moves", "Location"),
    "MOVES_PATH": ("moves", "PATH"),
    "MapEntry": ("maps", "MapEntry"),
    "Move": ("moves", "Move"),
    "PatchsetProblems": ("problems", "PatchsetProblems"),
    "Resolution": ("resolutions", "Resolution"),
    "TagMap": ("maps", "TagMap"),
    "Transaction": ("transaction", "Transaction"),
    "Warned": ("problems", "Warned"),
    "add_move": ("moves", "add_move"),
    "dump_map": ("maps", "dump_map"),
    "dump_resolution": ("resolutions", "dump_resolution"),
    "load_map": ("mapfile", "load_map"),
    "load_moves": ("moves", "load_moves"),
    "load_patch": ("load", "load_patch"),
    "load_resolution": ("resolutions", "load_resolution"),
    "load_resolutions": ("resolutions", "load_resolutions"),
    "load_series": ("load", "load_series"),
    "map_path": ("maps", "map_path"),
    "reading": ("recovery", "reading"),
    "recover": ("recovery", "recover"),
    "resolution_path": ("resolutions", "resolution_path"),
    "series_digest": ("digest", "series_digest"),
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(name)
    module, attribute = _MODULES[name]
    return getattr(import_module(f"{__name__}.{module}"), attribute)


__all__ = [
    "MOVES_PATH",
    "Editor",
    "Loaded",
    "Location",
    "MapEntry",
    "Move",
    "PatchsetProblems",
    "Resolution",
    "TagMap",
    "Transaction",
    "Warned",
    "add_move",
    "dump_map",
    "dump_resolution",
    "load_map",
    "load_moves",
    "load_patch",
    "load_resolution",
    "load_resolutions",
    "load_series",
    "map_path",
    "reading",
    "recover",
    "resolution_path",
    "series_digest",
]
