"""One release as one branch and one pull request: made, brought up to date, or left alone."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rebasekit.errors import StateError
from rebasekit.forge import marker
from rebasekit.forge.entries import PAUSE, Pull
from rebasekit.forge.forge import PULL, Forge
from rebasekit.forge.marker import Mark
from rebasekit.model.tag import Tag
from rebasekit.steps.bot.lock import PushRefused
from rebasekit.steps.bot.settings import BRANCHES, branch_of
from rebasekit.upstream.project import Commit, Project, Push

STATES = ("clean", "needs-decision", "conflict")
_TRIES = 3

_FOREIGN = """\
Somebody else has pushed to `{branch}`, so the bot leaves this branch and this pull request alone from here on.

To have it back, delete the branch, or push the bot's own commit to it; to keep your commits, merge or close this."""


class What(enum.Enum):
    """What became of a release."""

    OPENED = "opened"
    UPDATED = "updated"
    SAME = "nothing new"
    PAUSED = "paused"
    STOPPED = "stopped: somebody else pushed to the branch"
    CLOSED = "left alone: somebody closed it"
    MERGED = "merged already"
    OLDER = "left alone: a newer release has a pull request"
    FAILED = "failed"


@dataclass(frozen=True)
class Done:
    tag: Tag | None
    what: What
    number: int = 0
    url: str = ""
    text: str = ""
    bug: bool = False

    @property
    def failed(self) -> bool:
        return self.what is What.FAILED


@dataclass(frozen=True)
class Proposal:
    """What the forge should show for a release. `state` is the digest of everything that it was made of.

    With `again`, something could not run, and the next run tries once more; with `anew`, somebody asked for that.
    """

    tag: Tag
    commit: Commit
    title: str
    body: str
    label: str
    draft: bool
    series: str
    state: str
    again: bool = False
    anew: bool = False

    @property
    def mark(self) -> Mark:
        values = {"tag": self.tag.name, "series": self.series[:12], "state": self.state, "label": self.label}
        return Mark(PULL, values | ({"again": "1"} if self.again else {}))


def tag_of(pull: Pull) -> Tag | None:
    """The release that one of the bot's pull requests is about."""
    mark = marker.read(pull.body, PULL)
    name = mark.values.get("tag", "") if mark else ""
    return Tag(name) if pull.branch == f"{BRANCHES}/{name}" else None


@dataclass(frozen=True)
class Publisher:
    """`base` is the branch that pull requests go to. Call it with the lock held."""

    project: Project
    forge: Forge
    base: str
    labels: tuple[str, ...]

    def settled(self, tag: Tag, commit: Commit | None = None) -> Done | None:
        """Why there is nothing to do for a release whatever the series says; None when there may be.

        `commit` is one that counts as the bot's own without being read from the remote.
        """
        pulls = self.forge.pulls_of(branch_of(tag))
        pull = next((p for p in pulls if p.state == "open"), None)
        if pull is None and pulls:
            what = What.MERGED if pulls[-1].merged else What.CLOSED
            return Done(tag, what, pulls[-1].number, pulls[-1].url)
        if pull is not None and pull.paused:
            return Done(tag, What.PAUSED, pull.number, pull.url)
        newer = [p for p in self.forge.open_pulls() if (other := tag_of(p)) is not None and other > tag]
        if pull is None and newer:
            return Done(tag, What.OLDER, newer[-1].number, newer[-1].url)
        head = self._head(tag)
        if head and not (commit is not None and head == commit.id) and not self._mine(tag):
            return self._stopped(tag, pull)
        return None

    def known(self, tag: Tag, state: str) -> Done | None:
        """What there is to say of a release whose pull request was made of the same and is finished, else None."""
        pull, mark = self._standing(tag)
        if pull is None or mark.get("state") != state or "again" in mark:
            return None
        whole = set(STATES) & set(pull.labels) and not self._outdated(tag)
        return Done(tag, What.SAME, pull.number, pull.url, mark.get("label", "")) if whole else None

    def _standing(self, tag: Tag) -> tuple[Pull | None, Mapping[str, str]]:
        """The bot's open pull request of a release and what its mark says, if its branch is there."""
        pull = next((p for p in self.forge.pulls_of(branch_of(tag)) if p.state == "open"), None)
        mark = marker.read(pull.body, PULL) if pull else None
        return (pull, mark.values) if mark is not None and self._head(tag) else (None, {})

    def publish(self, proposal: Proposal) -> Done:
        """Bring branch and pull request to what the proposal says. Raises PushRefused, ForgeError, UpstreamError."""
        for _ in range(_TRIES):
            done = self.settled(proposal.tag, proposal.commit)
            if done is not None:
                return done
            pull, mark = self._standing(proposal.tag)
            same = mark == proposal.mark.values and not proposal.again and not proposal.anew
            if pull is not None and same:  # another run has been faster
                return self._same(pull, proposal)
            if self._pushed(proposal):
                return self._shown(proposal)
        raise StateError(f"`{branch_of(proposal.tag)}` moves each time before it can be pushed", hint="rebasekit bot")

    def _pushed(self, proposal: Proposal) -> bool:
        """Whether the branch is at the proposal's commit now; False when somebody was faster."""
        ref, head = f"refs/heads/{branch_of(proposal.tag)}", self._head(proposal.tag)
        if head == proposal.commit.id:
            return True
        pushed = self.project.push(ref, proposal.commit.id, head)
        if pushed.outcome is Push.REFUSED:
            raise PushRefused(branch_of(proposal.tag), pushed.message)
        return pushed.outcome is Push.DONE

    def _shown(self, proposal: Proposal) -> Done:
        branch = branch_of(proposal.tag)
        pull = next((p for p in self.forge.pulls_of(branch) if p.state == "open"), None)
        what = What.OPENED if pull is None else What.UPDATED
        if pull is None:
            body = marker.framed(proposal.mark, proposal.body)
            pull = self.forge.create_pull(branch, self.base, proposal.title, body, proposal.draft)
        body = marker.replaced(pull.body, proposal.mark, proposal.body)
        if (pull.title, pull.body) != (proposal.title, body):
            self.forge.edit_pull(pull, title=proposal.title, body=body)
        self._label(pull, proposal)
        text = proposal.label
        if what is What.UPDATED and not self.forge.set_draft(pull, proposal.draft):
            text += ", and the token may not say whether it is a draft"
        self._supersede(pull, proposal.tag)
        return Done(proposal.tag, what, pull.number, pull.url, text)

    def _same(self, pull: Pull, proposal: Proposal) -> Done:
        """Finish what a run that was killed left undone, else nothing."""
        if not set(STATES) & set(pull.labels):
            self._label(pull, proposal)
        self._supersede(pull, proposal.tag)
        return Done(proposal.tag, What.SAME, pull.number, pull.url, proposal.label)

    def _label(self, pull: Pull, proposal: Proposal) -> None:
        self.forge.label(pull.number, pull.labels, (*self.labels, proposal.label), STATES)

    def _supersede(self, pull: Pull, tag: Tag) -> None:
        """Close the bot's pull requests of older releases, unless they are paused or somebody works on them."""
        for old in self._outdated(tag):
            self.forge.label(pull.number, pull.labels, _carried(old.labels, self.labels))
            said = f"superseded by #{pull.number or 'N'}"
            mark = Mark("superseded", {"by": str(pull.number)})
            self.forge.say_once(old.number, mark, f"{said}, which is about {tag}.")
            self.forge.edit_pull(old, state="closed")

    def _outdated(self, tag: Tag) -> list[Pull]:
        found = [(pull, tag_of(pull)) for pull in self.forge.open_pulls() if not pull.paused]
        return [pull for pull, other in found if other is not None and other < tag and self._mine(other)]

    def _stopped(self, tag: Tag, pull: Pull | None) -> Done:
        branch = branch_of(tag)
        if pull is None:
            raise StateError(
                f"`{branch}` holds commits that are not the bot's", hint=f"git push origin --delete {branch}"
            )
        self.forge.say_once(pull.number, Mark("stopped", {"tag": tag.name}), _FOREIGN.format(branch=branch))
        return Done(tag, What.STOPPED, pull.number, pull.url)

    def _head(self, tag: Tag) -> str:
        """The branch's commit at the remote, "" without one."""
        ref = f"refs/heads/{branch_of(tag)}"
        return self.project.heads(ref).get(ref, "")

    def _mine(self, tag: Tag) -> bool:
        """Whether the branch's tip is a commit that the bot made; so is a branch that is gone."""
        branch = branch_of(tag)
        commit = self.project.fetched(f"refs/heads/{branch}")
        return commit is None or self.project.ours(commit, branch)


def _carried(labels: Iterable[str], own: Iterable[str]) -> list[str]:
    """The labels that people gave, which go with the work."""
    return sorted(set(labels) - set(STATES) - set(own) - {PAUSE})
