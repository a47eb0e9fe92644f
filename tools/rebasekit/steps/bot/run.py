"""A run of the bot: find, carry, try, show. What fails is shown too, and the other releases still get their turn."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

import rebasekit
from rebasekit.errors import RebasekitError, StateError
from rebasekit.forge.calls import ForgeError
from rebasekit.forge.forge import Forge
from rebasekit.model.progress import SILENT, Progress
from rebasekit.model.tag import Tag
from rebasekit.patches.digest import series_digest
from rebasekit.steps.bot import find, trials
from rebasekit.steps.bot.carried import Carried, carry
from rebasekit.steps.bot.lock import Occupied, Times, alone
from rebasekit.steps.bot.publish import Done, Proposal, Publisher, What
from rebasekit.steps.bot.settings import Settings, branch_of
from rebasekit.steps.bot.trials import Trials
from rebasekit.steps.workspace import Workspace
from rebasekit.upstream.project import Commit, Project

_WRITTEN = ("patchset", "upstream-map")
_READ = (*_WRITTEN, "serve", "kernels")


@dataclass(frozen=True)
class Page:
    """A pull request's texts, made by whoever calls."""

    title: str
    body: str
    label: str


@dataclass(frozen=True)
class Trouble:
    """A run, or one release of it, that failed. `key` is the tag's name, or `run`."""

    key: str
    error: Exception


@dataclass(frozen=True)
class Wording:
    """What the layer above writes: the page of a release, and title and text of an issue about trouble.

    The page is given the project as it is on the bot's branch, for reports beside it.
    """

    page: Callable[[Workspace, Carried, Trials], Page]
    trouble: Callable[[Trouble], tuple[str, str]]


@dataclass
class Bot:
    """`say` hears what became of each release as soon as it is known."""

    settings: Settings
    project: Project
    forge: Forge
    wording: Wording
    say: Callable[[Done], None] = lambda done: None
    times: Times = field(default_factory=Times)
    progress: Progress = SILENT

    def __post_init__(self) -> None:
        self._publisher = Publisher(self.project, self.forge, self.settings.branch, self.settings.labels)

    def run(self) -> list[Done]:
        """All releases, oldest first, and what became of each; trouble is among it and on the forge, not raised."""
        done: list[Done] = []
        try:
            if stopped := self.forge.stopped():
                self.progress.note(f"#{stopped[0]} has the label that stops the bot, so nothing is done")
                return []
            base = self.project.checkout(self.settings.branch)
            tags = self._tags()
        except Exception as error:
            return [self._failed(None, error)]
        done += [self._one(tag, base) for tag in tags]
        self._recovered(done, base)
        return done

    def _tags(self) -> list[Tag]:
        if self.settings.tags:
            return sorted(self.settings.tags)
        return find.newer(self._space(), pre=self.settings.pre, newest=self.settings.newest, progress=self.progress)

    def _space(self) -> Workspace:
        """The project as it is in the bot's own tree now."""
        root = self.project.tree / self.settings.where if self.settings.where else self.project.tree
        if not (root / "patchset" / "series.toml").is_file():
            where = f"{self.settings.where}/" if self.settings.where else ""
            raise StateError(
                f"`{where}patchset/series.toml` is not on `{self.settings.branch}` of the remote",
                hint=f"git push origin HEAD:{self.settings.branch}",
            )
        return Workspace(root, self.settings.cache)

    def _one(self, tag: Tag, base: Commit) -> Done:
        try:
            self.project.restore(base)
            done = self._publisher.settled(tag) or self._carried(tag, base)
        except Exception as error:  # a bug too is for people to see, and must not take the other releases with it
            return self._failed(tag, error)
        self.say(done)
        return done

    def _carried(self, tag: Tag, base: Commit) -> Done:
        carried = carry(self._space(), tag, self.progress)
        commit = self.project.commit(self._paths(_WRITTEN), _message(carried), base, branch_of(tag))
        space = self._space()
        state = self._state(space, commit, tag)
        if not self.settings.again and (done := self._publisher.known(tag, state)) is not None:
            return done
        if self.settings.results:
            tried = trials.read(space, tag, self.settings, carried.stuck)
        else:
            tried = trials.run(space, tag, self.settings, carried.stuck, self.progress)
        page = self.wording.page(space, carried, tried)
        proposal = Proposal(
            tag=tag,
            commit=commit,
            title=page.title,
            body=page.body,
            label=page.label,
            draft=carried.stuck,
            series=series_digest(space.series),
            state=state,
            again=tried.again,
            anew=self.settings.again,
        )
        with alone(self.project, self.times, self.progress):
            return self._publisher.publish(proposal)

    def _paths(self, names: tuple[str, ...]) -> list[str]:
        where = f"{self.settings.where}/" if self.settings.where else ""
        return [f"{where}{name}" for name in names]

    def _state(self, space: Workspace, commit: Commit, tag: Tag) -> str:
        """A digest of everything that a pull request is made of, known before anything is built."""
        settings = self.settings
        parts = [tag.name, space.store.commit(tag), rebasekit.__version__, settings.build, settings.smoke]
        parts += [*(self.project.part(commit, path) for path in self._paths(_READ))]
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]

    def _failed(self, tag: Tag | None, error: Exception) -> Done:
        """Show trouble on the forge, once as long as it stays the same."""
        key = tag.name if tag else "run"
        title, text = self.wording.trouble(Trouble(key, error))
        bug = not isinstance(error, RebasekitError)
        said = f"{type(error).__name__}: {error}" if bug else str(error)
        said = self.forge.calls.settings.without_token(said)
        done = Done(tag, What.FAILED, text=said, bug=bug)
        deaf = isinstance(error, ForgeError) and (error.status in (0, 401) or error.limited)
        if deaf or isinstance(error, Occupied):  # it cannot be told now; the next run goes on from here
            self.say(done)
            return done
        state = hashlib.sha256(said.encode(errors="replace")).hexdigest()[:16]
        try:
            with alone(self.project, self.times, self.progress):
                issue = self.forge.report_trouble(key, state, title, text, self.settings.labels)
            done = replace(done, number=issue.number)
        except RebasekitError as other:
            self.progress.note(f"this could not be shown as an issue: {other.message}")
        self.say(done)
        return done

    def _recovered(self, done: list[Done], base: Commit) -> None:
        """Close issues about what works again, and about releases that the base has passed."""
        failed = {each.tag.name for each in done if each.tag and each.what is What.FAILED}
        good = {each.tag.name for each in done if each.tag} - failed | {"run"}
        try:
            self.project.restore(base)
            passed = self._space().series.base
            for key in self.forge.troubled():
                if key in good or _passed(key, passed):
                    self.forge.close_trouble(key)
        except RebasekitError as error:
            self.progress.note(f"issues about earlier trouble stay open: {error.message}")


def _passed(key: str, base: Tag) -> bool:
    with suppress(RebasekitError):
        return Tag.parse(key) <= base
    return False


def _message(carried: Carried) -> str:
    """The commit's message: what moved, and how to do the same by hand."""
    counts = carried.verdict.counts()
    words = ", ".join(f"{name} {number}" for name, number in sorted(counts.items()))
    pins = f"Pins of {len(carried.moved.pins)} hunks moved with the base"
    stay = f", {len(carried.moved.stay)} stay until somebody has looked" if carried.moved.stay else ""
    return f"rebase: {carried.package} {carried.base} → {carried.tag}\n\n{words or 'no hunks'}.\n{pins}{stay}.\n"
