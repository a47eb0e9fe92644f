"""Reading and writing `patchset/` and `upstream-map/`.

Reading gives the frozen data of `rebasekit.model` or one error that lists every problem. Writing goes through a
transaction: the next reader finds the old state or the new one, whatever happened in between.
"""

from rebasekit.patches.digest import series_digest
from rebasekit.patches.editor import Editor
from rebasekit.patches.load import Loaded, load, load_patch, load_series
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
    "load",
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
