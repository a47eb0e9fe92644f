"""`nox -s synthetic`: made-up upstreams by the thousand, and how often a person is asked for nothing, beside git.

Every other batch is drawn by hypothesis, which goes for the corners, the others by seed, which spreads evenly."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))
from tests import conftest as _harness  # noqa: E402, F401  # and `harness`
from tests.synthetic import conftest  # noqa: E402, F401  # makes `synthetic` importable

from synthetic.keep import keep  # noqa: E402
from synthetic.oracle import ASKED, RIGHT, WRONG  # noqa: E402
from synthetic.run import Tally, seeded, survey, workspace  # noqa: E402

BATCH = 250


def main() -> int:
    """Print the table; 1 when a case is wrong and silent, which is then a folder to look at."""
    parser = argparse.ArgumentParser(prog="nox -s synthetic --", description=__doc__)
    parser.add_argument(
        "--cases", type=int, default=10_750, metavar="N", help="how many to draw (10750: some 10,100 can be judged)"
    )
    parser.add_argument("--start", type=int, default=0, metavar="N", help="where the series of cases begins")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (default: 2)")
    parser.add_argument("--keep", type=Path, default=Path("synthetic-failures"), metavar="DIR", help="for failures")
    options = parser.parse_args()
    begin = time.perf_counter()
    batches = range(options.start, options.start + options.cases, BATCH)
    total = Tally()
    with ProcessPoolExecutor(options.jobs) as pool:
        for tally in pool.map(_batch, batches, [options.keep] * len(batches)):
            total.merge(tally)
            print(f"\r{total.total('all')} cases", end="", file=sys.stderr, flush=True)
    print(table(total))
    print(
        f"{total.skipped} could not be said as hunks; {time.perf_counter() - begin:.0f} s on {options.jobs} processes"
    )
    return 1 if total.counts["all", WRONG] else 0


def _batch(start: int, folder: Path) -> Tally:
    with tempfile.TemporaryDirectory() as name:
        space = workspace(Path(name))
        if start // BATCH % 2:
            tally = survey(space, BATCH, start, rival=True)
        else:
            tally = seeded(space, range(start, start + BATCH), rival=True)
    if tally.failure:
        case, judged = tally.failure
        keep(case, judged, folder / f"case-{start}")
        print(f"\n{folder}/case-{start}: {judged.why}", file=sys.stderr)
        tally.failure = None  # it does not travel between processes
    return tally


def table(tally: Tally) -> str:
    """Counts as Markdown: all cases, those with one answer, then by what we and by what upstream did."""
    keys = ["all", "git all", "clear", "git clear", "unclear"]
    keys += sorted({key for key, _ in tally.counts} - {*keys, "git unclear"})
    lines = ["| | cases | right | asked | wrong and silent |", "|---|---:|---:|---:|---:|"]
    for key in keys:
        counts = [tally.counts[key, verdict] for verdict in (RIGHT, ASKED, WRONG)]
        lines.append(f"| {key} | {sum(counts)} | {' | '.join(map(str, counts))} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
