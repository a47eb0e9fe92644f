"""`nox -s bench`: rebasekit beside its peers in one run; `nox -s bench -- rebase` runs one part."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # `tests` is no installed package

PARTS = {
    "rebase": "the series carried: time, and hunks that a person has to place, beside git rebase",
    "scale": "a fork's hunks, and 2,000 synthetic ones over 5,000 files: time and memory, and how both grow",
    "facts": "facts and reach: cold, next release, warm, without an index",
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="nox -s bench --", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(f"{k}: {v}" for k, v in PARTS.items()))
    parser.add_argument("--cache", type=Path, help="where releases are stored (default: the user's cache)")
    args = parser.parse_args()
    unknown = [part for part in args.parts if part not in PARTS]
    if unknown:
        parser.error(f"there is no part `{unknown[0]}`, choose from {', '.join(PARTS)}")
    for part in args.parts or PARTS:
        importlib.import_module(f"tests.bench.{part}").run(args.cache)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
