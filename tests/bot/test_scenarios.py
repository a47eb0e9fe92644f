"""What a maintainer sees: pull requests and refs after each run, with and without Prism in between."""

from __future__ import annotations

import copy
import time

from harness import patch_toml
from standin import Fault, User, opened
from world import BOT, GONE, HUNK, NEWER, TOKEN, World

BRANCH = "refs/heads/rebasekit/v1.1.0"


def test_first_run_opens_one_pull_request(world: World) -> None:
    main = world.refs()["refs/heads/main"]
    result = world.bot()
    assert result.exit == 0, result.stderr
    (pull,) = world.state.pulls
    assert pull["title"] == "rebase: upstream v1.0.0 → v1.1.0 (carried 1)"
    assert (pull["head"]["ref"], pull["base"]["ref"], pull["draft"]) == ("rebasekit/v1.1.0", "main", False)
    assert world.labels(1) == {"rebase", "clean"}
    assert "opened #1" in result.stdout
    refs = world.refs()
    assert set(refs) == {"refs/heads/main", BRANCH}  # and no lock is left
    assert refs["refs/heads/main"] == main
    assert world.git("rev-list", "--count", f"main..{BRANCH}", cwd=world.bare) == "1"
    assert world.show(BRANCH, "patchset/series.toml").startswith('base = "v1.1.0"')
    assert 'pin = { tag = "v1.1.0"' in world.show(BRANCH, "patchset/p/patch.toml")
    assert 'placement = "shifted"' in world.show(BRANCH, "upstream-map/v1.1.0.toml")
    changed = world.git("diff", "--name-only", "main", BRANCH, cwd=world.bare).split()
    assert changed == ["patchset/p/patch.toml", "patchset/series.toml", "upstream-map/v1.1.0.toml"]
    assert world.git("log", "-1", "--format=%an %ae", BRANCH, cwd=world.bare) == "rebasekit rebasekit@localhost"
    assert world.git("status", "--porcelain") == "?? dist/"  # the whole report; the checkout is left as it was


def test_second_run_changes_nothing(world: World) -> None:
    world.bot()
    before, _ = world.refs(), world.writes()
    time.sleep(1.1)  # nothing may depend on the second in which it ran
    result = world.bot()
    assert result.exit == 0
    assert world.writes() == []
    assert world.refs() == before
    assert "nothing new #1" in result.stdout


def test_unrelated_commits_of_the_project_change_nothing(near: World) -> None:
    near.bot()
    before, _ = near.refs(), near.writes()
    (near.project / "README").write_text("about\n")
    near.commit("readme")
    assert near.bot().exit == 0
    assert near.writes() == []
    assert near.refs()[BRANCH] == before[BRANCH]


def test_new_findings_update(world: World) -> None:
    world.bot()
    first = world.refs()[BRANCH]
    people = "A note of mine above.\n\n" + world.pull(1)["body"] + "\n\nAnd below."
    world.pull(1)["body"] = people
    world.pull(1)["labels"].append({"name": "urgent"})
    world.case.write({"patchset/p/patch.toml": patch_toml(HUNK.replace("y = 2", "y = nowhere"))})
    main = world.commit("a mistake")
    world.writes()
    result = world.bot()
    assert result.exit == 0, result.stderr
    assert len(world.state.pulls) == 1
    assert world.labels(1) == {"rebase", "needs-decision", "urgent"}
    body = world.pull(1)["body"]
    assert body.startswith("A note of mine above.")
    assert body.endswith("And below.")
    assert "**unbound**" in body
    assert "#### To decide" in body
    assert world.pull(1)["title"].endswith("(carried 0, review 1)")
    head = world.refs()[BRANCH]
    assert head != first
    assert world.git("rev-parse", f"{head}^", cwd=world.bare) == main  # one commit on today's main
    assert 'pin = { tag = "v1.0.0"' in world.show(BRANCH, "patchset/p/patch.toml")  # nobody has agreed to it yet
    world.writes()
    world.bot()
    assert world.writes() == []


def test_next_tag_supersedes(world: World) -> None:
    world.bot()
    world.pull(1)["labels"] += [{"name": "urgent"}]
    old = world.refs()[BRANCH]
    world.case.tag("v1.2.0", NEWER)
    result = world.bot()
    assert result.exit == 0, result.stderr
    assert [pull["state"] for pull in world.state.pulls] == ["closed", "open"]
    assert world.said(1) == ["<!-- rebasekit superseded by=2 -->\nsuperseded by #2, which is about v1.2.0."]
    assert world.labels(2) == {"rebase", "clean", "urgent"}
    assert world.refs()[BRANCH] == old
    before, _ = world.refs(), world.writes()
    assert world.bot().exit == 0
    assert world.writes() == []
    assert world.refs() == before


def test_several_new_tags_are_carried_in_order(near: World) -> None:
    near.case.tag("v1.2.0rc1", NEWER)
    near.case.tag("v1.2.0", NEWER)
    assert near.bot().exit == 0
    assert [(p["head"]["ref"], p["state"]) for p in near.state.pulls] == [
        ("rebasekit/v1.1.0", "closed"),
        ("rebasekit/v1.2.0", "open"),
    ]
    assert "refs/heads/rebasekit/v1.2.0rc1" not in near.refs()


def test_only_the_newest_and_pre_releases_by_choice(near: World) -> None:
    near.case.tag("v1.2.0rc1", NEWER)
    assert near.bot("--newest", "--pre").exit == 0
    assert [p["head"]["ref"] for p in near.state.pulls] == ["rebasekit/v1.2.0rc1"]
    result = near.bot("--pre")
    assert "v1.1.0  left alone: a newer release has a pull request #1" in result.stdout
    assert len(near.state.pulls) == 1
    assert BRANCH not in near.refs()


def test_a_foreign_commit_stops_it_and_it_says_so_once(world: World) -> None:
    world.bot()
    theirs = world.push("rebasekit/v1.1.0", {"note": "mine\n"})
    world.case.write({"patchset/p/patch.toml": patch_toml(HUNK.replace("y = 2", "y = 3"))})
    world.commit("another line")
    for _ in range(2):
        result = world.bot()
        assert result.exit == 0
        assert "stopped: somebody else pushed" in result.stdout
    assert len(world.said(1)) == 1
    assert "leaves this branch" in world.said(1)[0]
    assert world.refs()[BRANCH] == theirs
    assert world.pull(1)["state"] == "open"
    world.case.tag("v1.2.0", NEWER)  # a newer release does not take somebody's work away
    assert world.bot().exit == 0
    assert [p["state"] for p in world.state.pulls] == ["open", "open"]


def test_an_amended_commit_is_foreign(near: World) -> None:
    near.bot()
    there = near.root / "amend"
    near.git("clone", "-q", "-b", "rebasekit/v1.1.0", str(near.bare), str(there), cwd=near.root)
    (there / "extra").write_text("x\n")
    near.git("add", "--all", cwd=there)
    who = {"GIT_COMMITTER_NAME": "rebasekit", "GIT_COMMITTER_EMAIL": "rebasekit@localhost"}
    near.git("commit", "-q", "--amend", "--no-edit", cwd=there, **who)  # even under our name
    near.git("push", "-q", "-f", "origin", "HEAD:rebasekit/v1.1.0", cwd=there)
    before = near.refs()
    assert "stopped" in near.bot().stdout
    assert near.refs() == before


def test_another_author_takes_over_the_bots_branch(near: World) -> None:
    near.bot()
    near.case.write({"patchset/p/patch.toml": patch_toml(HUNK.replace("y = 2", "y = 3"))})
    near.commit("another line")
    assert "updated #1" in near.bot("--author", "Robot <robot@example.invalid>").stdout
    assert near.git("log", "-1", "--format=%an %ce", BRANCH, cwd=near.bare) == "Robot robot@example.invalid"


def test_pause_on_a_pull_request(world: World) -> None:
    world.bot()
    world.pull(1)["labels"].append({"name": "rebasekit/pause"})
    world.case.write({"patchset/p/patch.toml": patch_toml(HUNK.replace("y = 2", "y = 3"))})
    world.commit("another line")
    before, _ = world.refs(), world.writes()
    result = world.bot()
    assert "paused #1" in result.stdout
    assert world.writes() == []
    assert world.refs() == before
    world.case.tag("v1.2.0", NEWER)
    world.bot()
    assert world.pull(1)["state"] == "open"
    assert world.labels(2) == {"rebase", "clean"}
    world.pull(1)["labels"].pop()
    world.bot()
    assert world.pull(1)["state"] == "closed"


def test_pause_on_an_issue_stops_everything(world: World) -> None:
    world.state.add("somebody", title="not now", labels=["rebasekit/pause"])
    before = world.refs()
    result = world.bot()
    assert result.exit == 0
    assert "#1 has the label that stops the bot" in result.stderr
    assert world.writes() == []
    assert world.refs() == before


def test_conflict_is_a_draft_until_it_is_solved(world: World) -> None:
    world.case.tag("v1.2.0", GONE)
    assert world.bot("--tag", "v1.2.0").exit == 0
    assert world.pull(1)["draft"] is True
    assert world.labels(1) == {"rebase", "conflict"}
    assert world.pull(1)["title"].endswith("(carried 0, conflict 1)")
    assert "**missing**" in world.pull(1)["body"]
    branch = "refs/heads/rebasekit/v1.2.0"
    assert 'tag = "v1.0.0"' in world.show(branch, "patchset/p/patch.toml")  # the pin that a person gave it
    solved = 'id = "y"\nfile = "a.py"\nscope = "g"\nplace = "first"\nlines = "y = 2"\ntags = ">=v1.2.0"'
    world.case.write({"patchset/p/patch.toml": patch_toml(solved)})
    world.commit("solved")
    assert world.bot("--tag", "v1.2.0").exit == 0
    assert world.pull(1)["draft"] is False
    assert world.labels(1) == {"rebase", "clean"}


def test_a_token_that_may_not_change_drafts(near: World) -> None:
    """GraphQL answers 200 with an error: the label tells, and the run says so."""
    near.bot()
    near.state.graphql = False
    near.case.write({"patchset/p/patch.toml": patch_toml(HUNK.replace("x = 1", "nothing(here)"))})
    near.commit("a pattern that fits nowhere")
    result = near.bot()
    assert result.exit == 0
    assert "may not say whether it is a draft" in result.stdout
    assert near.labels(1) == {"rebase", "conflict"}


def test_no_drafts_in_this_repository(near: World) -> None:
    near.state.drafts = False
    near.case.tag("v1.2.0", GONE)
    assert near.bot("--tag", "v1.2.0").exit == 0
    assert near.pull(1)["draft"] is False
    assert near.labels(1) == {"rebase", "conflict"}


def test_what_people_closed_stays_closed(near: World) -> None:
    near.bot()
    near.pull(1)["state"] = "closed"
    near.case.write({"patchset/p/patch.toml": patch_toml(HUNK.replace("y = 2", "y = 3"))})
    near.commit("another line")
    before, _ = near.refs(), near.writes()
    assert "left alone: somebody closed it #1" in near.bot().stdout
    assert near.writes() == []
    assert near.refs() == before


def test_merged_is_left_and_its_base_moves_on(near: World) -> None:
    near.bot()
    near.git("fetch", "-q", "origin", "rebasekit/v1.1.0")
    near.git("merge", "-q", "--ff-only", "FETCH_HEAD")
    near.git("push", "-q", "origin", "HEAD:main")
    near.pull(1).update(state="closed", merged_at="2026-01-05T08:00:00Z")
    near.writes()
    assert near.bot().exit == 0
    assert near.writes() == []
    near.case.tag("v1.2.0", NEWER)
    near.bot()
    assert near.pull(2)["title"] == "rebase: upstream v1.1.0 → v1.2.0 (carried 1)"


def test_others_are_never_touched(world: World) -> None:
    """Somebody else's pull request with a mark like ours, one of our account from a fork, and one without the mark."""
    world.bot()
    mark = world.pull(1)["body"]
    theirs, fork = (mark.replace("v1.1.0", tag) for tag in ("v1.0.1", "v1.0.2"))
    world.git("push", "-q", str(world.bare), "main:rebasekit/v1.0.1", "main:other")
    left = [
        opened(world.state, "somebody", "rebasekit/v1.0.1", "0" * 40, body=theirs),
        opened(world.state, BOT, "rebasekit/v1.0.2", "0" * 40, repo="other/fork", body=fork),
        opened(world.state, BOT, "other", "0" * 40, body="no mark"),
    ]
    before = [copy.deepcopy(entry) for entry in left]
    world.case.tag("v1.2.0", NEWER)
    assert world.bot().exit == 0
    for entry in left:
        entry["head"]["sha"] = "0" * 40  # the forge's own doing
    assert left == before
    assert not any(world.said(entry["number"]) for entry in left)
    assert world.pull(1)["state"] == "closed"


def test_a_pull_request_of_our_account_that_is_not_the_bots(world: World) -> None:
    """Another program of the same account has one for that branch: it is left, and ours is reported as impossible."""
    world.bot()
    world.pull(1)["body"] = "no mark"
    before = copy.deepcopy(world.pull(1))
    assert world.bot().exit == 4
    assert world.pull(1) == before
    assert world.said(1) == []
    assert [issue["title"] for issue in world.state.issues] == ["rebase: v1.1.0 failed"]


def test_a_branch_that_is_not_ours_is_not_pushed_to(world: World) -> None:
    world.git("push", "-q", "origin", "main:rebasekit/v1.1.0")
    before = world.refs()
    result = world.bot()
    assert result.exit == 4
    assert world.refs() == before
    assert world.state.pulls == []
    (issue,) = world.state.issues
    assert "commits that are not the bot's" in issue["body"]


def test_a_workflows_own_token(world: World) -> None:
    world.state.users = {TOKEN: User("github-actions[bot]", whole=False)}
    assert world.bot().exit == 4  # it has to be told, outside of a workflow
    for extra in ({"GITHUB_ACTIONS": "true"}, {"GITHUB_ACTIONS": "true"}):
        assert world.bot(**extra).exit == 0
    assert len(world.state.pulls) == 1
    assert world.bot("--login", "github-actions[bot]").exit == 0
    assert len(world.state.pulls) == 1


def test_half_done_runs_are_finished(near: World) -> None:
    """The branch was pushed and the forge went away; then the labels were missing."""
    near.state.faults = [Fault("POST", "/pulls$", 403, body={"message": "no"}, times=1)]
    assert near.bot().exit == 4
    assert BRANCH in near.refs()
    assert near.state.pulls == []
    near.state.faults = [Fault("POST", "/labels$", 403, body={"message": "no"}, times=1)]
    assert near.bot().exit == 4
    assert near.labels(2) == set()
    assert near.bot().exit == 0
    assert near.labels(2) == {"rebase", "clean"}
    assert [(issue["number"], issue["state"]) for issue in near.state.issues] == [(1, "closed")]


def test_a_project_below_the_top_of_its_repository(near: World) -> None:
    near.git("rm", "-q", "-r", "patchset")
    near.case.write({"deep/er/patchset/p/patch.toml": patch_toml(HUNK)})
    text = f'base = "v1.0.0"\npatches = ["p"]\n\n[upstream]\nkind = "git"\nurl = "{near.case.repository}"\n'
    near.case.write({"deep/er/patchset/series.toml": text})
    near.commit("moved")
    assert near.bot("-C", "deep/er").exit == 0
    assert near.show(BRANCH, "deep/er/patchset/series.toml").startswith('base = "v1.1.0"')
    assert near.show(BRANCH, "deep/er/upstream-map/v1.1.0.toml")
