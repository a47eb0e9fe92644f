"""The documents name what there is: every key of a profile, every key of the JSON, every figure that is calculated."""

from __future__ import annotations

import json
import re
from pathlib import Path

from rebasekit.commands._plan import data
from rebasekit.patches.refusals import PLACE, load_refusals
from rebasekit.probes.capacity import Memory, flags_from_arguments
from rebasekit.probes.capacity.model import model_of
from rebasekit.probes.capacity.plan import Deployment, plan
from rebasekit.probes.capacity.release import RELEASES
from rebasekit.probes.capacity.states import per_request

from .figures import GIB, HYBRID_27B, TINY, V19
from .test_profiles import GOOD
from .test_recorded import RUNS

ROOT = Path(__file__).resolve().parents[2]
CAPACITY, PROFILES = ((ROOT / "docs" / name).read_text() for name in ("capacity.md", "profiles.md"))


def test_every_key_of_the_json_is_documented():
    flags = flags_from_arguments(["--tp", "2", "--mem-fraction-static", "0.9", "--max-total-tokens", "5000"])
    found = data(plan(Deployment(HYBRID_27B, flags, Memory(11 * GIB, 7 * GIB), V19, length=10_000)))
    assert found["advice"] and found["chains"] and found["states"]
    keys = set(found)
    for part in ("memory", "tokens", "requests", "states", "chains", "dense_copy"):
        keys |= set(found[part])
    keys |= {key for part in ("cells", "advice") for key in found[part][0]}
    assert [key for key in sorted(keys) if f"`{key}`" not in CAPACITY] == []


def test_every_key_of_a_profile_is_documented():
    text = (ROOT / "tools/rebasekit/patches/profiles.py").read_text()
    read = set(re.findall(r'(?:\.text|\.prose|\.number|\.table|_switch)\((?:table, )?"([a-z-]+)"', text))
    assert {"title", "model", "length", "dense-copies", "stand-ins"} <= read
    table = PROFILES[PROFILES.index("## Keys") : PROFILES.index("## serve/refusals")]
    by_their_keys = {"card", "chains", "model"}
    assert [key for key in sorted(read - by_their_keys) if not re.search(rf"`(\w+\.)?\[?{key}\]?`", table)] == []
    assert all(key in PROFILES for key in re.findall(r"^([a-z-]+) =", GOOD, re.MULTILINE)[:4])


def test_the_table_of_strategies_is_what_is_calculated():
    rows = re.findall(r"^\| (`?[\w ,`-]+`?) \| (\d) \| (\d) \|$", CAPACITY, re.MULTILINE)
    assert len(rows) == 5
    for name, plain, skipping in rows:
        words = ["--mamba-radix-cache-strategy", name.split("`")[1]] if name.startswith("`") else []
        if "without the overlap" in name or "no_buffer" in name:
            words.append("--disable-overlap-schedule")
        if name.startswith("any"):
            words.append("--disable-radix-cache")
        flags = flags_from_arguments(words)
        assert per_request(flags) == int(plain)
        skips = flags_from_arguments(words, {"SGLANG_OPT_MAMBA_SKIP_DECODE_LOCK": "1"})
        assert per_request(skips) == int(skipping)


def test_the_figures_of_the_table_are_those_that_were_recorded():
    from rebasekit.probes.capacity import solve
    from rebasekit.probes.capacity.server import memory_from_log

    for run in RUNS:
        free, weights = memory_from_log("\n".join(run["log"]))
        found = solve(model_of(TINY, "tiny"), flags_from_arguments(run["flags"]), Memory(free, weights), V19)
        assert f"| {run['tokens']:,} | {found.tokens:,} |" in CAPACITY
        assert f"of {free / GIB:.2f} GiB" in CAPACITY
        if found.checkpoint_slots:
            assert f"| {run['state_slots']:,} | {found.state_slots:,} |" in CAPACITY


def test_every_release_that_changed_something_is_in_the_text():
    for row in RELEASES:
        assert str(row.since) in CAPACITY


def test_the_projects_refusals_are_readable_and_the_example_is_one_of_them():
    text = PROFILES[PROFILES.index("```toml") :].split("```")[1].removeprefix("toml\n")
    whole = (ROOT / PLACE).read_text()
    why = re.search('why += (".*")', text)
    assert why is not None and why[1] in whole
    assert any(json.loads(why[1]) == refusal.why for refusal in load_refusals(ROOT))
