"""What the bot does on a forge, and only to what is its own: author, head repository and mark have to be ours."""

from __future__ import annotations

from collections.abc import Iterable

from rebasekit.forge import marker
from rebasekit.forge.calls import Calls, ForgeError
from rebasekit.forge.entries import PAUSE, Comment, Issue, Pull
from rebasekit.forge.marker import Mark

PULL, TROUBLE = "pull", "trouble"
_DRAFT = "mutation($id: ID!) { convertPullRequestToDraft(input: {pullRequestId: $id}) { clientMutationId } }"
_READY = "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { clientMutationId } }"


class Forge:
    """One repository. `login` is who the token is; the bot leaves everybody else's alone."""

    def __init__(self, calls: Calls, login: str = "") -> None:
        self.calls = calls
        self.repository = calls.settings.repository
        self._owner = self.repository.partition("/")[0]
        self.login = login or self._who()

    def _who(self) -> str:
        if self.calls.blind:
            return "whoever the token is"
        try:
            return str(self.calls.get("/user")["login"])
        except ForgeError as error:
            if error.status != 403 or error.limited:
                raise
            hint = "name the account: `rebasekit bot --login 'github-actions[bot]'`"
            raise ForgeError(f"the token cannot say who it is: {error.said}", 403, hint=hint) from None

    def _is_me(self, login: str) -> bool:
        return login.lower() == self.login.lower()

    def default_branch(self) -> str:
        return "main" if self.calls.blind else str(self.calls.get(self.calls.path())["default_branch"])

    def is_mine(self, pull: Pull) -> bool:
        """Whether a pull request is the bot's own."""
        ours = self._is_me(pull.author) and pull.repository.lower() == self.repository.lower()
        return ours and marker.read(pull.body, PULL) is not None

    def open_pulls(self) -> list[Pull]:
        """The bot's own open pull requests, oldest first."""
        return self._pulls({"state": "open"})

    def pulls_of(self, branch: str) -> list[Pull]:
        """The bot's own pull requests of a branch in any state, oldest first."""
        return self._pulls({"state": "all", "head": f"{self._owner}:{branch}"})

    def _pulls(self, parameters: dict[str, str]) -> list[Pull]:
        if self.calls.blind:
            return []
        found = self.calls.pages(self.calls.path("pulls"), {"sort": "created", "direction": "asc", **parameters})
        return [pull for pull in map(Pull.of, found) if self.is_mine(pull)]

    def create_pull(self, branch: str, base: str, title: str, body: str, draft: bool) -> Pull:
        """Open one, or take the one that another run has opened in the meantime."""

        def opened() -> Pull | None:
            return next((p for p in self.pulls_of(branch) if p.state == "open"), None)

        wanted = {"title": title, "head": branch, "base": base, "body": body, "draft": draft}
        try:
            answer = self.calls.write("POST", self.calls.path("pulls"), wanted, done=opened)
        except ForgeError as error:
            if error.status == 422 and "already exists" in error.said and (found := opened()):
                return found
            if error.status == 422 and draft and "draft" in error.said.lower():
                return self.create_pull(branch, base, title, body, False)  # the plan has none; the label says it
            raise
        if isinstance(answer, Pull):
            return answer
        head = {"ref": branch, "repo": {"full_name": self.repository}}
        assumed = {**wanted, "user": {"login": self.login}, "head": head, "base": {"ref": base}}
        return Pull.of(answer or assumed)  # nothing is answered in a dry run

    def edit_pull(self, pull: Pull, **fields: str) -> None:
        """Change title, body or state."""
        self.calls.write("PATCH", self.calls.path("pulls", pull.number or "N"), fields)

    def set_draft(self, pull: Pull, draft: bool) -> bool:
        """Make it a draft or ready; False when the forge does not let us."""
        if pull.draft == draft:
            return True
        try:
            self.calls.graphql(_DRAFT if draft else _READY, {"id": pull.node})
        except ForgeError as error:
            if error.status in (0, 401) or error.status >= 500:
                raise
            return False
        return True

    def label(self, number: int, have: Iterable[str], add: Iterable[str], drop: Iterable[str] = ()) -> None:
        """Put labels on and take some off; others stay. A label that the repository lacks is made by the forge."""
        have = set(have)
        new = sorted(set(add) - have)
        if new:
            self.calls.write("POST", self.calls.path("issues", number or "N", "labels"), {"labels": new})
        for name in sorted(have & set(drop) - set(add)):
            try:
                self.calls.write("DELETE", self.calls.path("issues", number or "N", "labels", name))
            except ForgeError as error:
                if error.status != 404:  # somebody else took it off
                    raise

    def comments(self, number: int) -> list[Comment]:
        """The bot's own comments."""
        if self.calls.blind or not number:
            return []
        found = self.calls.pages(self.calls.path("issues", number, "comments"))
        mine = (Comment(str((c.get("user") or {}).get("login") or ""), str(c.get("body") or "")) for c in found)
        return [comment for comment in mine if self._is_me(comment.author)]

    def say_once(self, number: int, mark: Mark, text: str) -> bool:
        """Comment, unless a comment with this mark is there; whether anything was said."""

        def said() -> bool | None:
            return any(marker.read(c.body, mark.kind) == mark for c in self.comments(number)) or None

        if said():
            return False
        body = {"body": f"{mark}\n{text}"}
        self.calls.write("POST", self.calls.path("issues", number or "N", "comments"), body, done=said)
        return True

    def stopped(self) -> list[int]:
        """Numbers of open issues, pull requests left out, with the pause label: they stop the whole bot."""
        if self.calls.blind:
            return []
        found = self.calls.pages(self.calls.path("issues"), {"state": "open", "labels": PAUSE})
        return [int(entry["number"]) for entry in found if not entry.get("pull_request")]

    def troubles(self) -> list[Issue]:
        """The bot's own open issues about runs that failed."""
        if self.calls.blind:
            return []
        found = self.calls.pages(self.calls.path("issues"), {"state": "open", "creator": self.login})
        issues = [Issue.of(entry) for entry in found if not entry.get("pull_request")]
        return [issue for issue in issues if marker.read(issue.body, TROUBLE) and self._is_me(issue.author)]

    def report_trouble(self, key: str, state: str, title: str, text: str, labels: Iterable[str]) -> Issue:
        """One open issue per `key`: made, brought up to date when `state` differs, or left as it is."""
        mark = Mark(TROUBLE, {"key": key, "state": state})

        def known() -> Issue | None:
            return next((issue for issue in self.troubles() if _key(issue) == key), None)

        issue = known()
        if issue is None:
            wanted = {"title": title, "body": marker.framed(mark, text), "labels": sorted(labels)}
            answer = self.calls.write("POST", self.calls.path("issues"), wanted, done=known)
            return answer if isinstance(answer, Issue) else Issue.of(answer)
        if marker.read(issue.body, TROUBLE) != mark:
            body = marker.replaced(issue.body, mark, text)
            self.calls.write("PATCH", self.calls.path("issues", issue.number), {"title": title, "body": body})
        return issue

    def troubled(self) -> set[str]:
        """The keys of those issues."""
        return {_key(issue) for issue in self.troubles()}

    def close_trouble(self, key: str) -> None:
        """Close the issue of a key that works again."""
        for issue in self.troubles():
            if _key(issue) == key:
                wanted = {"state": "closed", "state_reason": "completed"}
                self.calls.write("PATCH", self.calls.path("issues", issue.number), wanted)


def _key(issue: Issue) -> str:
    mark = marker.read(issue.body, TROUBLE)
    return mark.values.get("key", "") if mark else ""
