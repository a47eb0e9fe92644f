"""`nox -s truth`: `reach` on a release, held to what people read by hand."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from rebasekit.facts.source import ListingTree
from rebasekit.model.hunk import UpstreamSource
from rebasekit.model.tag import Tag
from rebasekit.upstream.cache import cache_dir
from rebasekit.upstream.store import Store

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # `tests` is no installed package
from tests.truth.score import measure

HERE = Path(__file__).parent


def main() -> int:
    """Print the score of every truth file, or of those named; 1 when a target is missed."""
    parser = argparse.ArgumentParser(prog="nox -s truth --", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="truth files (default: those here)")
    parser.add_argument("--cache", type=Path, default=cache_dir(), help="where releases and facts are kept")
    options = parser.parse_args()
    return max(_score(path, options.cache) for path in options.files or sorted(HERE.glob("reach-*.json")))


def _score(path: Path, cache: Path) -> int:
    truth = json.loads(path.read_text(encoding="utf-8"))
    tag = Tag.parse(truth["version"])
    with Store.open(cache, UpstreamSource("pypi", "sglang")) as store:
        store.ensure(tag)
        tree = ListingTree(store.commit(tag), lambda: store.files(tag), store.read_many)
        total = measure(truth, tree, cache / "facts")
    for problem in total.problems:
        print(" ", problem)
    print(f"{tag}: {total}")
    return 0 if total.verdicts == total.classes and min(total.recall, total.precision) >= 0.95 else 1


if __name__ == "__main__":
    sys.exit(main())
