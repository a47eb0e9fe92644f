"""When something fails: retried or reported, never doubled, and never only an exit code."""

from __future__ import annotations

import itertools
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from harness import patch_toml
from standin import Call, Fault, opened
from world import BOT, HUNK, NEWER, TOKEN, World

from rebasekit.steps.bot.lock import Occupied, Times, alone
from rebasekit.upstream.credentials import Access
from rebasekit.upstream.project import Project, Pushed

BRANCH = "refs/heads/rebasekit/v1.1.0"


def reset(seconds: float) -> dict[str, str]:
    return {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(time.time() + seconds))}


@pytest.mark.parametrize(
    "fault",
    [
        Fault("POST", "/pulls$", 403, body={"message": "API rate limit exceeded for installation"}),  # headers below
        Fault("POST", "/pulls$", 403, {"retry-after": "1"}, {"message": "You have exceeded a secondary rate limit"}),
        Fault("POST", "/pulls$", 429, {"retry-after": "1"}),
        Fault("GET", "/issues$", 502),
    ],
    ids=["primary", "secondary", "too-many", "bad-gateway"],
)
def test_limits_and_faults_are_waited_for(near: World, fault: Fault) -> None:
    """Without Prism: its description has no 429, and answers it with an error of its own."""
    if not fault.headers and fault.status == 403:
        fault.headers = reset(1)
    near.state.faults = [fault]
    start = time.time()
    result = near.bot()
    assert result.exit == 0, result.stderr
    assert time.time() - start >= 1
    assert fault.times == 0
    assert len(near.state.pulls) == 1
    assert near.labels(1) == {"rebase", "clean"}


def test_rate_limit_with_reset_header(world: World) -> None:
    """A reset that is near is waited for, one that is far is reported; the next run goes on from there."""
    limit = {"message": "API rate limit exceeded"}
    world.state.faults = [Fault("POST", "/pulls$", 403, reset(3600), limit, times=99)]
    result = world.bot("--patience", "60")
    assert result.exit == 4
    assert "rate limit" in result.stdout
    assert BRANCH in world.refs()
    assert world.state.entries == {}
    world.state.faults = [Fault("POST", "/pulls$", 403, reset(1), limit)]
    assert world.bot().exit == 0
    assert len(world.state.pulls) == 1
    assert set(world.refs()) == {"refs/heads/main", BRANCH}


def test_a_request_that_arrived_although_the_answer_did_not(near: World) -> None:
    near.bot()
    near.case.tag("v1.2.0", NEWER)
    near.case.tag("v1.3.0", {"other.py": ""})
    lost = [Fault("POST", path, 502, late=True) for path in ("/pulls$", "/comments$", "/labels$")]
    near.state.faults = lost
    assert near.bot("--tag", "v1.2.0").exit == 0
    assert [fault.times for fault in lost] == [0, 0, 0]
    assert len(near.state.pulls) == 2
    assert len(near.said(1)) == 1
    near.state.faults = [Fault("POST", "/issues$", 502, late=True), Fault("POST", "/pulls$", 403)]
    assert near.bot("--tag", "v1.3.0").exit == 4
    assert len(near.state.issues) == 1


def test_duplicate_422_takes_the_one_that_is_there(world: World) -> None:
    """Another run opens it between our look and our call."""

    def hurry(call: Call) -> None:
        if call.verb == "POST" and call.path.endswith("/pulls") and not world.state.pulls:
            sha = world.refs()[BRANCH]
            opened(world.state, BOT, "rebasekit/v1.1.0", sha, body=call.body["body"], title=call.body["title"])

    world.state.before = hurry
    result = world.bot()
    assert result.exit == 0, result.stderr
    assert len(world.state.pulls) == 1
    assert world.labels(1) == {"rebase", "clean"}


def test_duplicate_422_of_somebody_else_is_reported(world: World) -> None:
    world.bot()
    world.pull(1)["user"]["login"] = "somebody"
    result = world.bot()
    assert result.exit == 4
    assert len(world.state.pulls) == 1
    assert "already exists" in world.state.issues[0]["body"]


def test_a_token_without_rights(world: World) -> None:
    """It may push and not open pull requests: said with the permission that is missing, and as an issue."""
    world.state.users[TOKEN].rights -= {"pulls"}
    for _ in range(2):
        result = world.bot()
        assert result.exit == 4
        assert "the token may not do" in result.stdout
    assert world.state.pulls == []
    assert BRANCH in world.refs()
    (issue,) = world.state.issues
    assert issue["title"] == "rebase: v1.1.0 failed"
    assert {label["name"] for label in issue["labels"]} == {"rebase"}
    assert "write access to contents, pull requests and issues" in issue["body"]
    world.state.users[TOKEN].rights |= {"pulls"}
    assert world.bot().exit == 0
    assert len(world.state.pulls) == 1
    assert issue["state"] == "closed"


def test_a_token_without_any_right(near: World) -> None:
    near.state.users[TOKEN].rights.clear()
    result = near.bot()
    assert result.exit == 4
    assert near.state.entries == {}
    assert "could not be shown as an issue" in result.stderr
    assert "refs/rebasekit/lock" not in near.refs()


def test_a_closed_token(world: World) -> None:
    before = world.refs()
    result = world.bot(token="gone")
    assert result.exit == 4
    assert "does not take the token" in result.stderr
    assert world.refs() == before
    assert world.writes() == []


def test_the_push_is_refused(world: World) -> None:
    world.refuse("refs/heads/rebasekit/*", "protected: ask @admin <b>now</b>")
    for _ in range(2):
        result = world.bot()
        assert result.exit == 4
        assert "was refused" in result.stdout
    assert [verb for verb, _ in world.writes()] == ["POST"]  # told once
    assert world.state.pulls == []
    assert set(world.refs()) == {"refs/heads/main"}
    (issue,) = world.state.issues
    assert "protected: ask" in issue["body"]
    assert "@admin" not in issue["body"]
    assert "<b>" not in issue["body"]
    (world.bare / "hooks" / "update").unlink()
    assert world.bot().exit == 0
    assert issue["state"] == "closed"


def test_not_even_the_lock_may_be_pushed(near: World) -> None:
    near.refuse("refs/*", "read only")
    result = near.bot()
    assert result.exit == 4
    assert "was refused" in result.stdout
    assert near.state.entries == {}
    assert set(near.refs()) == {"refs/heads/main"}


def test_somebody_is_faster_between_look_and_push(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lease holds: what they pushed stays, and the bot says that it stops."""
    world.bot()
    world.case.write({"patchset/p/patch.toml": patch_toml(HUNK.replace("y = 2", "y = 3"))})
    world.commit("another line")
    theirs: list[str] = []
    push = Project.push

    def hurried(self: Project, ref: str, commit: str, expected: str) -> Pushed:
        if ref == BRANCH and not theirs:
            theirs.append(world.push("rebasekit/v1.1.0", {"note": "mine\n"}))
        return push(self, ref, commit, expected)

    monkeypatch.setattr(Project, "push", hurried)
    result = world.bot()
    assert theirs
    assert world.refs()[BRANCH] == theirs[0]
    assert "stopped" in result.stdout
    assert len(world.said(1)) == 1


def test_somebody_makes_the_branch_between_look_and_push(near: World, monkeypatch: pytest.MonkeyPatch) -> None:
    push = Project.push

    def hurried(self: Project, ref: str, commit: str, expected: str) -> Pushed:
        if ref == BRANCH:
            near.git("push", "-q", str(near.bare), "HEAD:rebasekit/v1.1.0")
        return push(self, ref, commit, expected)

    monkeypatch.setattr(Project, "push", hurried)
    assert near.bot().exit == 4
    assert near.refs()[BRANCH] == near.refs()["refs/heads/main"]
    assert near.state.pulls == []


def test_a_vanished_branch(world: World) -> None:
    """Deleting the branch closes the pull request: a person's word, and the bot keeps to it."""
    world.bot()
    world.git("push", "-q", "origin", "--delete", "rebasekit/v1.1.0")
    world.case.write({"patchset/p/patch.toml": patch_toml(HUNK.replace("y = 2", "y = 3"))})
    world.commit("another line")
    world.writes()
    result = world.bot()
    assert result.exit == 0
    assert "left alone: somebody closed it #1" in result.stdout
    assert world.writes() == []
    assert BRANCH not in world.refs()


def test_a_branch_that_vanishes_during_the_run(near: World) -> None:
    gone: list[str] = []

    def hurry(call: Call) -> None:
        if call.verb == "POST" and call.path.endswith("/pulls") and not gone:
            gone.append(near.git("push", "-q", "origin", "--delete", "rebasekit/v1.1.0"))

    near.state.before = hurry
    assert near.bot().exit == 4
    assert near.state.pulls == []
    assert "field" not in near.state.issues[0]["body"]
    assert near.bot().exit == 0
    assert [p["state"] for p in near.state.pulls] == ["open"]


def test_two_bots_at_once(world: World) -> None:
    """Both find the same work: one does it, the other sees that it is done."""
    for number in (2, 3):
        world.case.tag(f"v1.{number}.0", {"a.py": f"def f():\n    # {number}\n    x = 1\n    return x\n"})
    both = threading.Barrier(2)

    def one(_: int) -> tuple[int, str]:
        both.wait()
        result = world.bot(spawn=True)
        return result.exit, result.stdout + result.stderr

    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(one, range(2)))
    assert [code for code, _ in results] == [0, 0], results
    assert [(p["head"]["ref"], p["state"]) for p in world.state.pulls] == [
        ("rebasekit/v1.1.0", "closed"),
        ("rebasekit/v1.2.0", "closed"),
        ("rebasekit/v1.3.0", "open"),
    ]
    assert [len(world.said(number)) for number in (1, 2, 3)] == [1, 1, 0]
    assert "refs/rebasekit/lock" not in world.refs()
    creations = [c for c in world.state.calls if c.verb == "POST" and c.path.endswith("/pulls")]
    assert len(creations) == 3


def test_a_lock_that_a_killed_run_left(near: World) -> None:
    note = killed(near, age=1300)
    result = near.bot()
    assert result.exit == 0, result.stdout
    assert note not in near.refs().values()
    assert len(near.state.pulls) == 1


def killed(world: World, age: int) -> str:
    """What a run that was killed `age` seconds ago has left at the remote."""
    empty = world.git("hash-object", "-t", "tree", "-w", "/dev/null", cwd=world.bare)
    when = f"{int(time.time()) - age} +0000"
    dates = {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
    note = world.git("commit-tree", empty, "-m", "killed", cwd=world.bare, **dates)
    world.git("update-ref", "refs/rebasekit/lock", note, cwd=world.bare)
    return note


def test_a_lock_that_somebody_holds(near: World, tmp_path: Path) -> None:
    """It is waited for, and in the end reported; nothing of theirs is taken away."""
    note = killed(near, age=5)
    project = Project(Access.of(str(near.bare)), tmp_path / "own")
    project.checkout("main")
    waits: list[float] = []
    clock = itertools.count(time.time(), 10.0)
    times = Times(stale=900, patience=60, sleep=waits.append, clock=lambda: next(clock))
    with pytest.raises(Occupied, match="another run of the bot"), alone(project, times):
        raise AssertionError("held twice")
    assert waits
    assert near.refs()["refs/rebasekit/lock"] == note


def test_upstream_cannot_be_asked(near: World) -> None:
    near.case.repository.rename(near.case.repository.with_name("away"))
    for _ in range(2):
        assert near.bot().exit == 4
    (issue,) = near.state.issues
    assert issue["title"] == "rebase: looking for new releases failed"
    near.case.repository.with_name("away").rename(near.case.repository)
    assert near.bot().exit == 0
    assert issue["state"] == "closed"
    assert len(near.state.pulls) == 1


def test_one_release_fails_and_the_next_has_its_turn(near: World) -> None:
    near.case.tag("v1.1.5", {"a.py": "", "A.py": ""})  # not safe to store: one of them would be lost elsewhere
    near.case.tag("v1.2.0", NEWER)
    result = near.bot()
    assert result.exit == 4, result.stdout
    assert [p["head"]["ref"] for p in near.state.pulls] == ["rebasekit/v1.1.0", "rebasekit/v1.2.0"]
    assert [i["title"] for i in near.state.issues] == ["rebase: v1.1.5 failed"]


def test_a_bug_is_reported_too(near: World, monkeypatch: pytest.MonkeyPatch) -> None:
    import rebasekit.steps.bot.run as module

    def broken(*_: object) -> None:
        raise KeyError("@everyone")

    monkeypatch.setattr(module, "carry", broken)
    assert near.bot().exit == 70
    (issue,) = near.state.issues
    assert "KeyError" in issue["body"]
    assert "@everyone" not in issue["body"]
    assert near.bot().exit == 70
    assert len(near.state.issues) == 1


def test_issues_are_switched_off(near: World) -> None:
    near.refuse("refs/heads/rebasekit/*", "no")
    near.state.faults = [Fault("POST", "/issues$", 410, body={"message": "Issues are disabled"}, times=9)]
    result = near.bot()
    assert result.exit == 4
    assert "Issues are disabled" in result.stderr


def test_a_patchset_that_cannot_be_read(near: World) -> None:
    near.case.write({"patchset/p/patch.toml": "title = \n"})
    near.commit("broken")
    assert near.bot().exit == 4
    assert near.state.issues
    assert near.state.pulls == []


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--branch", "nowhere"], "nowhere"),
        (["--repository", "not a name"], "does not say which repository"),
        (["--author", "no mail"], "is not `Name <mail>`"),
        (["--remote", "http://forge.example.invalid/me/fork"], "in the open"),
        (["--remote", "ext::sh -c true"], "not the URL|would run a command"),
        (["--tag", "latest"], "not a release tag"),
    ],
)
def test_what_cannot_be_meant(near: World, argv: list[str], words: str) -> None:
    before = near.refs()
    result = near.bot(*argv)
    assert result.exit in (2, 4)
    assert re.search(words, result.stderr + result.stdout)
    assert near.refs() == before


def test_without_a_token_or_a_remote(near: World) -> None:
    assert "there is no token" in near.bot(token="").stderr
    near.git("remote", "remove", "origin")
    assert "--remote" in near.bot().stderr
    assert near.bot("--remote", str(near.bare)).exit == 0
