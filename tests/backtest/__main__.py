"""`nox -s backtest`: other people's forks carried and judged; `docs/backtest.md` is written from it."""

from __future__ import annotations

import argparse
import datetime
import gc
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # `tests` is no installed package

from tests.backtest.forks import FORKS  # noqa: E402
from tests.backtest.judge import Result  # noqa: E402
from tests.backtest.run import Run, backtest  # noqa: E402
from tests.backtest.table import counts, document  # noqa: E402

from rebasekit.console import Console  # noqa: E402
from rebasekit.upstream.cache import cache_dir  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(prog="nox -s backtest --", description=__doc__)
    parser.add_argument(
        "forks", nargs="*", metavar="FORK", help="packages (default: all): " + ", ".join(f.package for f in FORKS)
    )
    parser.add_argument("--cache", type=Path, help="where releases are stored (default: the user's cache)")
    parser.add_argument(
        "--files", type=int, default=0, metavar="N", help="only the first N files of each fork; writes nothing"
    )
    parser.add_argument("--details", type=Path, metavar="FILE", help="every hunk's result as JSON")
    args = parser.parse_args()
    gc.set_threshold(100_000, 20, 50)  # as the command line does
    chosen = [fork for fork in FORKS if not args.forks or fork.package in args.forks]
    console = Console()
    runs = [run for fork in chosen for run in backtest(fork, args.cache or cache_dir(), console, most=args.files)]
    page = document(runs, datetime.date.today().isoformat())
    console.close()
    print(page)
    if args.details:
        args.details.write_text(json.dumps([_details(run) for run in runs], indent=1))
    if not args.files and len(chosen) == len(FORKS):
        from tests.backtest.plot import draw  # needs matplotlib

        (ROOT / "docs" / "backtest.md").write_text(page)
        draw(runs, ROOT / "docs" / "backtest.svg")
    silent = sum(counts(c)[Result.SILENT] for run in runs for c in run.columns if c.tool == "rebasekit")
    return 1 if silent else 0


def _details(run: Run) -> dict[str, object]:
    return {
        "fork": run.fork.name,
        "target": run.target.name,
        "tools": {
            c.tool: [
                {"hunk": j.hunk, "result": j.result.value, "why": j.why, "noted": j.answer.noted if j.answer else ""}
                for j in c.judged
            ]
            for c in run.columns
        },
    }


if __name__ == "__main__":
    raise SystemExit(main())
