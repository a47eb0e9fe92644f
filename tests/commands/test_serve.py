"""`serve`: profiles are checked, printed so that a shell can take them, and executed so that signals go through."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from harness import ROOT, Case, patch_toml

SERIES = """
base = "v0.5.19"
patches = ["fix"]
[upstream]
kind = "git"
url = "@UPSTREAM@"
[environment]
CORE = "python"
"""
REFUSALS = """
[[refusal]]
when = { fast = true, safe = true }
why  = "one of them"

[[refusal]]
when  = { cache = ["int2", "int3"] }
needs = { backend = ["", "triton"], CORE = "python" }
why   = "only it reads them"
tags  = ">=v0.5.20"

[[refusal]]
when    = { level = "*" }
needs   = { backend = "triton" }
why     = "levels"
patched = true
"""
PROFILE = """
title  = "a deployment"
why    = "to try it"
tag    = "v0.5.20"
module = "{module}"

[model]
path = "models/m"

[arguments]
tp    = 2
name  = "it's $HOME"
sizes = [1, 2]
fast  = true
rate  = 0.5

[environment]
LIMIT = "a b"
"""
SERVER = """
import json, os, signal, sys, time
from pathlib import Path

def ended(number, frame):
    Path("ended").write_text(str(number))
    sys.exit(7)

signal.signal(signal.SIGTERM, ended)
Path("said.json").write_text(json.dumps({"argv": sys.argv[1:], "pid": os.getpid(), "env": dict(os.environ)}))
while "--wait" in sys.argv:
    time.sleep(0.05)
sys.exit(5)
"""


@pytest.fixture
def case(tmp_path: Path) -> Case:
    hunk = 'id = "h"\nfile = "app.py"\nscope = "main"\nplace = "first"\nlines = "y = 1"'
    made = Case(
        tmp_path,
        upstream={"v0.5.19": {"app.py": "def main():\n    x = 1\n"}},
        patchset={
            "series.toml": SERIES,
            "fix/patch.toml": patch_toml(hunk),
            "profiles/one.toml": PROFILE.replace("{module}", "server"),
        },
    )
    made.write({"serve/refusals.toml": REFUSALS, "server.py": SERVER, "models/m/config.json": "{}"})
    return made


def change(case: Case, old: str, new: str, name: str = "one") -> None:
    path = case.project / f"patchset/profiles/{name}.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_what_is_printed_is_what_a_shell_runs(case: Case) -> None:
    words = ("--port", "1", "--tp", "4")
    done = case.run("serve", "--profile", "one", "--python", sys.executable, "--print", "--", *words)
    assert (done.exit, done.stdout.splitlines()[0]) == (0, "env \\")
    subprocess.run(["bash", "-c", done.stdout], cwd=case.project, env=case.env, check=False)
    said = json.loads((case.project / "said.json").read_text())
    own = ["--model-path", "models/m", "--name", "it's $HOME", "--sizes", "1", "2", "--fast", "--rate", "0.5"]
    assert said["argv"] == [*own, *words]  # the added flag stands in for the profile's own
    assert (said["env"]["CORE"], said["env"]["LIMIT"]) == ("python", "a b")
    assert all(line.endswith(" \\") for line in done.stdout.splitlines()[:-1])


def test_the_server_takes_the_commands_place(case: Case) -> None:
    argv = [sys.executable, "-m", "rebasekit", "serve", "--profile", "one", "--python", sys.executable, "--", "--wait"]
    with subprocess.Popen(argv, cwd=case.project, env=case.env, stdout=subprocess.PIPE, text=True) as process:
        try:
            said = case.project / "said.json"
            deadline = time.monotonic() + 30
            while not (said.exists() and said.read_text().endswith("}")) and time.monotonic() < deadline:
                time.sleep(0.05)
            assert json.loads(said.read_text())["pid"] == process.pid
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 7  # the server's own code
        finally:
            process.kill()
        assert (case.project / "ended").read_text() == str(int(signal.SIGTERM))
        assert process.stdout is not None
        assert process.stdout.read().startswith("ok   release")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--safe",), "`--fast` with `--safe`: one of them"),
        (("--cache", "int3", "--backend", "other"), "`--backend` must be left out or `triton`: only it reads them"),
        (("--level", "3"), "`--backend` must be `triton`: levels"),
        (("--cache", "int2", "--backend", "triton"), ""),
        (("--cache", "int4", "--backend", "other"), ""),
    ],
)
def test_combinations_are_refused_before_anything_starts(case: Case, words: tuple[str, ...], message: str) -> None:
    done = case.run("serve", "--profile", "one", "--python", "python3", "--print", "--", *words)
    line = next(line for line in done.stderr.splitlines() if "combinations" in line)
    assert done.exit == (1 if message else 0)
    assert message in line
    if message:
        started = case.spawn("serve", "--profile", "one", "--python", sys.executable, "--", *words)
        assert (started.exit, "nothing was started" in started.stderr) == (1, True)
        assert not (case.project / "said.json").exists()


def test_a_refusal_is_for_the_releases_and_builds_that_it_names(case: Case) -> None:
    words = ("--print", "--", "--cache", "int2", "--backend", "other")
    assert case.run("serve", "--profile", "one", "--tag", "v0.5.19", *words).exit == 0
    assert case.run("serve", "--profile", "one", "--tag", "v0.5.20", *words).exit == 1
    change(case, "[model]", "patched = false\n[model]")
    assert case.run("serve", "--profile", "one", "--print", "--", "--level", "3").exit == 0
    refused = case.run("serve", "--profile", "one", "--print", "--", "--cache", "int2")
    assert "`CORE` must be `python`" in refused.stderr  # upstream as it ships has no pins


def test_anyway_starts_what_a_check_refuses(case: Case) -> None:
    started = case.spawn("serve", "--profile", "one", "--python", sys.executable, "--anyway", "--", "--safe")
    assert started.exit == 5
    assert "--safe" in json.loads((case.project / "said.json").read_text())["argv"]


def test_a_profile_cannot_undo_a_pin(case: Case) -> None:
    change(case, 'LIMIT = "a b"', 'CORE = "rust"')
    done = case.run("serve", "--profile", "one", "--print")
    assert done.exit == 1
    assert "FAIL pins" in done.stderr
    assert "sets `CORE=rust`, the series pins `python`" in done.stderr


def test_a_profile_for_other_releases(case: Case) -> None:
    change(case, 'tag    = "v0.5.20"', 'tag    = "v0.5.20"\ntags = ">=v0.5.20"')
    assert case.run("serve", "--profile", "one", "--print").exit == 0
    done = case.run("serve", "--profile", "one", "--tag", "v0.5.19", "--print")
    assert (done.exit, "not for v0.5.19" in done.stderr) == (1, True)


def test_a_model_that_is_not_there(case: Case) -> None:
    done = case.run("serve", "--profile", "one", "--print", "--model", "elsewhere")
    assert (done.exit, "there is no `elsewhere/config.json`" in done.stderr) == (1, True)
    change(case, "models/m", "org/hub-name")
    done = case.run("serve", "--profile", "one", "--print")
    assert (done.exit, "skip model" in done.stderr) == (0, True)


CAPACITY = """
[model.config]
num_hidden_layers = 4
num_attention_heads = 8
num_key_value_heads = 8
head_dim = 64
hidden_size = 512
max_position_embeddings = 65536

[card]
free = "1 GiB"
weights = "400 MiB"

[chains]
length = 10000
count = {count}
"""


@pytest.mark.parametrize(("count", "outcome"), [(14, "ok"), (15, "FAIL")])
def test_capacity_is_checked(case: Case, count: int, outcome: str) -> None:
    """Half of a GiB is static, 112 MiB are left, a token takes 4 KiB per rank: 28,672."""
    change(case, "models/m", "org/m")
    change(case, "[arguments]", CAPACITY.replace("{count}", str(count // 7 + (outcome == "FAIL"))) + "\n[arguments]")
    change(case, "rate  = 0.5", "mem-fraction-static = 0.5")
    done = case.run("serve", "--profile", "one", "--print", "--json")
    line = next(check for check in json.loads(done.stdout)["checks"] if check["name"] == "capacity")
    assert line["outcome"] == outcome
    assert line["text"].startswith("28,672 tokens (budget)")
    assert done.exit == (0 if outcome == "ok" else 1)


def test_what_cannot_be_calculated_does_not_stop_a_start(case: Case) -> None:
    change(case, "models/m", "org/m")
    config = CAPACITY.replace("{count}", "1").replace("[card]", "kv_lora_rank = 512\n[card]")
    change(case, "[arguments]", config + "\n[arguments]")
    done = case.run("serve", "--profile", "one", "--print")
    assert (done.exit, "skip capacity      `org/m` has latent attention" in done.stderr) == (0, True)


def test_a_card_that_holds_nothing_is_refused(case: Case) -> None:
    change(case, "models/m", "org/m")
    change(case, "[arguments]", CAPACITY.replace("{count}", "1").replace("400 MiB", "600 MiB") + "\n[arguments]")
    change(case, "rate  = 0.5", "mem-fraction-static = 0.5")
    done = case.run("serve", "--profile", "one", "--print")
    assert (done.exit, "weights leave no memory" in done.stderr) == (1, True)


def test_stand_ins_bring_the_start_hook(case: Case) -> None:
    change(case, "[model]", "stand-ins = true\n[model]")
    done = case.run("serve", "--profile", "one", "--json")
    environment = json.loads(done.stdout)["environment"]
    assert (Path(environment["PYTHONPATH"]) / "sitecustomize.py").is_file()
    assert json.loads(Path(environment["REBASEKIT_SITE"]).read_text())["stand_ins"] is True


def test_the_interpreter(case: Case) -> None:
    argv = ("serve", "--profile", "one", "--json")
    assert json.loads(case.run(*argv).stdout)["argv"][0] == "python3"
    built = case.cache / "serve/v0.5.20/patched/bin/python"
    built.parent.mkdir(parents=True)
    built.symlink_to(sys.executable)
    assert json.loads(case.run(*argv).stdout)["argv"][0] == str(built)
    done = case.run(*argv, "--python", "no-such-python")
    assert (done.exit, "no interpreter `no-such-python`" in done.stderr) == (4, True)


def test_a_build_of_another_series_is_not_served(case: Case) -> None:
    from rebasekit.patches.digest import series_digest
    from rebasekit.patches.load import load_series

    argv = ("serve", "--profile", "one", "--print")
    assert "skip build" in case.run(*argv).stderr
    built = case.cache / "serve/v0.5.20/patched"
    (built / "bin").mkdir(parents=True)
    (built / "bin/python").symlink_to(sys.executable)
    done = case.run(*argv)
    assert (done.exit, "does not say which series" in done.stderr) == (1, True)
    manifest = built / "lib/python3.11/site-packages/app-1.dist-info/rebasekit.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_text(json.dumps({"series": "f" * 64}))
    done = case.run(*argv)
    assert (done.exit, "has series ffffffffffff" in done.stderr) == (1, True)
    manifest.write_text(json.dumps({"series": series_digest(load_series(case.project / "patchset"))}))
    done = case.run(*argv)
    assert (done.exit, "ok   build" in done.stderr) == (0, True)
    assert "skip build" in case.run(*argv, "--python", "python3").stderr


def test_names(case: Case) -> None:
    done = case.run("serve", "--profile", "onee", "--print")
    assert (done.exit, "--profile one" in done.stderr) == (2, True)
    assert case.run("serve", "--profile", str(case.project / "patchset/profiles/one.toml"), "--print").exit == 0
    assert case.run("serve", "--print").exit == 2
    assert case.run("serve", "--profile", "one", "--print", "--", "port").exit == 2
    (case.project / "serve/refusals.toml").unlink()
    assert case.run("serve", "--profile", "one", "--print").exit == 2


@pytest.mark.parametrize("path", sorted((ROOT / "patchset/profiles").glob("*.toml")), ids=lambda path: path.stem)
def test_the_projects_own_profiles(path: Path) -> None:
    """Each is readable and refuses nothing of its own; only the one before the series lacks room for its chains."""
    argv = [sys.executable, "-m", "rebasekit", "serve", "--profile", path.stem, "--json", "--python", "python3"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ})
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert all(checks[name]["outcome"] == "ok" for name in ("release", "combinations"))
    assert checks["pins"]["outcome"] == ("skip" if path.stem.endswith("-before") else "ok")
    assert (checks["capacity"]["outcome"] == "FAIL") == path.stem.endswith("-before")


def test_the_articles_cards_before_and_after(case: Case) -> None:
    argv = [sys.executable, ROOT / "tools/capacity", "--json", "--profile"]
    before, after = (
        json.loads(subprocess.run([*argv, name], cwd=ROOT, capture_output=True, text=True, check=False).stdout)
        for name in ("rtx5070x2-before", "rtx5070x2")
    )
    assert before["tokens"]["max_total_num_tokens"] == pytest.approx(148_058, rel=0.001)
    assert before["chains"]["by_tokens"] == 2 and not before["ok"]
    assert after["ok"] and after["tokens"]["max_total_num_tokens"] > 210_000
    assert after["chains"]["needed"] == [25, 26]


def test_shell_quotes_survive(case: Case) -> None:
    done = case.run("serve", "--profile", "one", "--print", "--", "--text", 'a\'b "c" \\ $(d)')
    assert shlex.split(done.stdout.replace("\\\n", " "))[-1] == 'a\'b "c" \\ $(d)'
