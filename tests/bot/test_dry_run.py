"""`--dry-run` tells exactly what a run would do, and does none of it."""

from __future__ import annotations

import json
import re

from harness import patch_toml
from world import HUNK, NEWER, World


def told(text: str) -> list[tuple[str, str]]:
    return [tuple(line.split(" ", 2)[:2]) for line in text.splitlines() if re.match(r"(POST|PATCH|DELETE) ", line)]  # type: ignore[misc]


def pushes(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(("push ", "remove "))]


def test_first_run(world: World) -> None:
    before = world.refs()
    dry = world.bot("--dry-run")
    assert dry.exit == 0, dry.stderr
    assert world.refs() == before
    assert world.writes() == []
    assert world.state.entries == {}
    world.bot()
    made = [(verb, path.replace("/issues/1/", "/issues/N/")) for verb, path in world.writes()]
    assert told(dry.stdout) == made
    branch = world.refs()["refs/heads/rebasekit/v1.1.0"]
    assert f"push {branch[:12]} to refs/heads/rebasekit/v1.1.0, if it is not there" in pushes(dry.stdout)
    body = next(line for line in dry.stdout.splitlines() if line.startswith("POST /repos/me/fork/pulls"))
    fields = json.loads(body.split(" ", 2)[2])
    assert fields["head"] == "rebasekit/v1.1.0"
    assert "characters)" in fields["body"]


def test_update_and_supersede(world: World) -> None:
    world.bot()
    world.case.write({"patchset/p/patch.toml": patch_toml(HUNK.replace("y = 2", "y = nowhere"))})
    world.commit("a mistake")
    world.case.tag("v1.2.0", NEWER)
    before, _ = world.refs(), world.writes()
    dry = world.bot("--dry-run")
    assert dry.exit == 0
    assert world.refs() == before
    assert world.writes() == []
    world.bot()
    made = [(verb, path.replace("/issues/2/", "/issues/N/")) for verb, path in world.writes()]
    assert told(dry.stdout) == made
    old = before["refs/heads/rebasekit/v1.1.0"][:12]
    assert any(f"if it is at {old}" in line for line in pushes(dry.stdout))
    assert "superseded by #N" in dry.stdout


def test_without_a_token_nothing_is_read(world: World) -> None:
    dry = world.bot("--dry-run", token="")
    assert dry.exit == 0, dry.stderr
    assert world.state.calls == []
    assert "what a first run would do" in dry.stderr
    assert [verb for verb, _ in told(dry.stdout)] == ["POST", "POST"]


def test_list_and_maps(world: World) -> None:
    world.case.tag("v1.2.0", NEWER)
    assert json.loads(world.bot("--list", token="").stdout) == ["v1.1.0", "v1.2.0"]
    assert json.loads(world.bot("--list", "--newest", token="").stdout) == ["v1.2.0"]
    assert world.bot("--maps", token="").exit == 0
    assert sorted(path.name for path in (world.project / "upstream-map").iterdir()) == ["v1.1.0.toml", "v1.2.0.toml"]
    assert world.state.calls == []
