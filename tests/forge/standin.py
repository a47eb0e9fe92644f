"""A small forge on loopback: pull requests, issues, labels and comments in memory, branch heads from a bare repository.

It does what GitHub's API does as far as the bot can tell, and can be told to fail. Every request is in `calls`.
"""

from __future__ import annotations

import json
import re
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

NAME = "me/fork"
BODY_LIMIT = 65_536
DENIED = {"message": "Resource not accessible by integration", "documentation_url": "https://docs.example.invalid"}
WHEN = "2026-01-05T08:00:00Z"


@dataclass
class Fault:
    """An answer instead of the real one, `times` times. With `late`, the request is carried out before."""

    verb: str
    path: str  # a regular expression
    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: dict[str, Any] = field(default_factory=dict)
    times: int = 1
    late: bool = False


@dataclass(frozen=True)
class Call:
    verb: str
    path: str
    query: dict[str, str]
    body: Any
    headers: dict[str, str]

    @property
    def writes(self) -> bool:
        return self.verb != "GET"


@dataclass
class User:
    login: str
    rights: set[str] = field(default_factory=lambda: {"contents", "pulls", "issues"})
    whole: bool = True  # False: a workflow's own token, which may not ask who it is


class Answer(Exception):
    def __init__(self, status: int, data: Any, headers: dict[str, str] | None = None) -> None:
        super().__init__(status)
        self.status, self.data, self.headers = status, data, headers or {}


def validation(resource: str, code: str, message: str = "", field: str = "") -> Answer:
    error = {"resource": resource, "code": code} | ({"message": message} if message else {})
    return Answer(422, {"message": "Validation Failed", "errors": [error | ({"field": field} if field else {})],
                        "documentation_url": "https://docs.example.invalid"})  # fmt: skip


@dataclass
class State:
    """What the forge knows. `reset` starts over with another repository, behind the same port."""

    bare: Path = Path()
    users: dict[str, User] = field(default_factory=dict)
    entries: dict[int, dict[str, Any]] = field(default_factory=dict)
    comments: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    drafts: bool = True
    graphql: bool = True
    before: Callable[[Call], None] | None = None  # seen before a call is carried out, outside the lock

    def heads(self) -> dict[str, str]:
        form = "%(refname:short) %(objectname)"
        out = subprocess.check_output(["git", "for-each-ref", f"--format={form}", "refs/heads"], cwd=self.bare)
        return dict(line.split() for line in out.decode().splitlines())

    @property
    def pulls(self) -> list[dict[str, Any]]:
        return [entry for entry in self.entries.values() if "head" in entry]

    @property
    def issues(self) -> list[dict[str, Any]]:
        return [entry for entry in self.entries.values() if "head" not in entry]

    def add(self, login: str, **values: Any) -> dict[str, Any]:
        number = len(self.entries) + 1
        labels = [{"name": name} for name in values.pop("labels", [])]
        entry = {"number": number, "node_id": f"N_{number}", "state": "open", "body": "", "title": "t"}
        entry |= {"user": {"login": login}, "labels": labels, **values}
        self.entries[number] = entry
        return entry


class Standin:
    """The server. `url` is its API's address."""

    def __init__(self) -> None:
        self.state = State()
        self.shape: Callable[[str, str, int, Any], Any] | None = None
        self.lock = threading.RLock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _any(self) -> None:
                outer._serve(self)

            do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = _any

            def log_message(self, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        parts = urlsplit(handler.path)
        raw = handler.rfile.read(int(handler.headers.get("content-length") or 0))
        query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
        headers = {key.lower(): value for key, value in handler.headers.items()}
        call = Call(handler.command, parts.path, query, json.loads(raw) if raw else None, headers)
        if self.state.before is not None:
            self.state.before(call)
        with self.lock:
            self.state.calls.append(call)
            answer = self._answer(call)
        data = b"" if answer.status == 204 else json.dumps(answer.data).encode()
        handler.send_response(answer.status)
        for key, value in {"content-type": "application/json; charset=utf-8", **answer.headers}.items():
            handler.send_header(key, value)
        handler.send_header("content-length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    def _answer(self, call: Call) -> Answer:
        faults = (f for f in self.state.faults if f.times and f.verb == call.verb and re.search(f.path, call.path))
        fault = next(faults, None)
        if fault is not None:
            fault.times -= 1
            if fault.late:
                self._real(call)
            return Answer(fault.status, {"message": "a fault", **fault.body}, fault.headers)
        return self._real(call)

    def _real(self, call: Call) -> Answer:
        template = ""
        try:
            for verb, shape, work in ROUTES:
                match = re.fullmatch(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", shape), call.path)
                if match and verb == call.verb:
                    template = shape
                    user = self._user(call)
                    names = {key: unquote(value) for key, value in match.groupdict().items()}
                    if f"{names.get('owner')}/{names.get('repo')}" not in (NAME, "None/None"):
                        raise Answer(404, {"message": "Not Found"})
                    self._tidy()
                    raise work(self.state, call, user, names)
            raise Answer(404, {"message": "Not Found"})
        except Answer as answer:
            if self.shape is not None and template:
                answer.data = self.shape(call.verb, template, answer.status, answer.data)
            return answer

    def _user(self, call: Call) -> User:
        word, _, token = call.headers.get("authorization", "").partition(" ")
        user = self.state.users.get(token) if word.lower() in ("token", "bearer") else None
        if user is None:
            raise Answer(401, {"message": "Bad credentials"})
        return user

    def _tidy(self) -> None:
        """A pull request whose branch is gone is closed, as the forge does it."""
        heads = self.state.heads()
        for pull in self.state.pulls:
            ref = pull["head"]["ref"]
            if pull["head"]["repo"] and pull["head"]["repo"]["full_name"] == NAME and pull["state"] == "open":
                if ref not in heads:
                    pull["state"] = "closed"
                else:
                    pull["head"]["sha"] = heads[ref]


def _need(user: User, right: str) -> None:
    if right not in user.rights:
        raise Answer(403, DENIED)


def _paged(call: Call, found: list[Any]) -> Answer:
    size, page = int(call.query.get("per_page", 30)), int(call.query.get("page", 1))
    return Answer(200, found[(page - 1) * size : page * size])


def _entry(state: State, names: dict[str, str], key: str) -> dict[str, Any]:
    entry = state.entries.get(int(names[key]))
    if entry is None or (key == "pull_number" and "head" not in entry):
        raise Answer(404, {"message": "Not Found"})
    return entry


def _checked(body: str) -> None:
    if len(body) > BODY_LIMIT:
        raise validation("Issue", "custom", f"body is too long (maximum is {BODY_LIMIT} characters)", "body")


def who(state: State, call: Call, user: User, names: dict[str, str]) -> Answer:
    return Answer(200, {"login": user.login}) if user.whole else Answer(403, DENIED)


def repository(state: State, call: Call, user: User, names: dict[str, str]) -> Answer:
    return Answer(200, {"full_name": NAME, "default_branch": "main"})


def list_pulls(state: State, call: Call, user: User, names: dict[str, str]) -> Answer:
    wanted, head = call.query.get("state", "open"), call.query.get("head", "")
    found = [p for p in state.pulls if wanted in ("all", p["state"])]
    if head:
        owner, _, ref = head.partition(":")
        found = [p for p in found if p["head"]["ref"] == ref and p["head"]["label"] == f"{owner}:{ref}"]
    if call.query.get("direction", "desc") == "desc":
        found.reverse()
    return _paged(call, found)


def create_pull(state: State, call: Call, user: User, names: dict[str, str]) -> Answer:
    _need(user, "pulls")
    body, heads = call.body, state.heads()
    _checked(body.get("body", ""))
    if body["head"] not in heads:
        return validation("PullRequest", "invalid", field="head")
    if body["base"] not in heads:
        return validation("PullRequest", "invalid", field="base")
    if any(p["head"]["ref"] == body["head"] and p["state"] == "open" for p in state.pulls):
        return validation("PullRequest", "custom", f"A pull request already exists for me:{body['head']}.")
    if heads[body["head"]] == heads[body["base"]]:
        return validation("PullRequest", "custom", f"No commits between {body['base']} and {body['head']}")
    if body.get("draft") and not state.drafts:
        return Answer(422, {"message": "Draft pull requests are not supported in this repository."})
    return Answer(201, opened(state, user.login, body["head"], heads[body["head"]], **{
        key: body[key] for key in ("title", "body", "draft") if key in body
    }))  # fmt: skip


def opened(state: State, login: str, branch: str, sha: str, *, repo: str = NAME, **values: Any) -> dict[str, Any]:
    """A pull request as the forge has it; also what tests put there for others."""
    head = {"ref": branch, "sha": sha, "label": f"{repo.partition('/')[0]}:{branch}", "repo": {"full_name": repo}}
    fields = {"head": head, "base": {"ref": "main"}, "draft": False, "merged_at": None, **values}
    entry = state.add(login, **fields)
    entry["html_url"] = f"https://forge.example.invalid/{NAME}/pull/{entry['number']}"
    return entry


def get_pull(state: State, call: Call, user: User, names: dict[str, str]) -> Answer:
    return Answer(200, _entry(state, names, "pull_number"))


def edit_pull(state: State, call: Call, user: User, names: dict[str, str]) -> Answer:
    _need(user, "pulls")
    entry = _entry(state, names, "pull_number")
    _checked(call.body.get("body", ""))
    entry |= {key: call.body[key] for key in ("title", "body", "state", "base") if key in call.body}
    return Answer(200, entry)


def _as_issue(entry: dict[str, Any]) -> dict[str, Any]:
    inside = {"url": "u", "html_url": "u", "diff_url": "u", "patch_url": "u"}
    return {k: v for k, v in entry.items() if k not in ("head", "base", "draft", "merged_at")} | (
        {"pull_request": inside} if "head" in entry else {}
    )


def list_issues(state: State, call: Call, user: User, names: dict[str, str]) -> Answer:
    wanted, creator = call.query.get("state", "open"), call.query.get("creator", "")
    labels = set(filter(None, call.query.get("labels", "").split(",")))
    found = [
        _as_issue(e)
        for e in state.entries.values()
        if wanted in ("all", e["state"])
        and (not creator or e["user"]["login"] == creator)
        and labels <= {label["name"] for label in e["labels"]}
    ]
    return _paged(call, found)


def create_issue(state: State, call: Call, user: User, names: dict[str, str]) -> Answer:
    _need(user, "issues")
    _checked(call.body.get("body", ""))
    return Answer(201, _as_issue(state.add(user.login, **call.body)))


def edit_issue(state: State, call: Call, user: User, names: dict[str, str]) -> Answer:
    _need(user, "issues")
    entry = _entry(state, names, "issue_number")
    entry |= {key: call.body[key] for key in ("title", "body", "state") if key in call.body}
    return Answer(200, _as_issue(entry))


def list_comments(state: State, call: Call, user: User, names: dict[str, str]) -> Answer:
    return _paged(call, state.comments.get(int(names["issue_number"]), []))


def create_comment(state: State, call: Call, user: User, names: dict[str, str]) -> Answer:
    entry = _entry(state, names, "issue_number")
    _need(user, "pulls" if "head" in entry else "issues")
    found = state.comments.setdefault(entry["number"], [])
    found.append({"id": len(found) + 1, "body": call.body["body"], "user": {"login": user.login}})
    return Answer(201, found[-1])


def add_labels(state: State, call: Call, user: User, names: dict[str, str]) -> Answer:
    entry = _entry(state, names, "issue_number")
    _need(user, "pulls" if "head" in entry else "issues")
    have = [label["name"] for label in entry["labels"]]
    entry["labels"] += [{"name": name} for name in call.body["labels"] if name not in have]
    return Answer(200, entry["labels"])


def drop_label(state: State, call: Call, user: User, names: dict[str, str]) -> Answer:
    entry = _entry(state, names, "issue_number")
    _need(user, "pulls" if "head" in entry else "issues")
    left = [label for label in entry["labels"] if label["name"] != names["name"]]
    if len(left) == len(entry["labels"]):
        return Answer(404, {"message": "Label does not exist"})
    entry["labels"] = left
    return Answer(200, left)


def graphql(state: State, call: Call, user: User, names: dict[str, str]) -> Answer:
    node = call.body["variables"]["id"]
    entry = next((e for e in state.pulls if e["node_id"] == node), None)
    if entry is None or "pulls" not in user.rights or not state.graphql:
        return Answer(200, {"errors": [{"type": "FORBIDDEN", "message": "Resource not accessible"}]})
    entry["draft"] = "convertPullRequestToDraft" in call.body["query"]
    return Answer(200, {"data": {}})


_R = "/repos/{owner}/{repo}"
ROUTES: list[tuple[str, str, Callable[[State, Call, User, dict[str, str]], Answer]]] = [
    ("GET", "/user", who),
    ("GET", _R, repository),
    ("GET", f"{_R}/pulls", list_pulls),
    ("POST", f"{_R}/pulls", create_pull),
    ("GET", f"{_R}/pulls/{{pull_number}}", get_pull),
    ("PATCH", f"{_R}/pulls/{{pull_number}}", edit_pull),
    ("GET", f"{_R}/issues", list_issues),
    ("POST", f"{_R}/issues", create_issue),
    ("PATCH", f"{_R}/issues/{{issue_number}}", edit_issue),
    ("GET", f"{_R}/issues/{{issue_number}}/comments", list_comments),
    ("POST", f"{_R}/issues/{{issue_number}}/comments", create_comment),
    ("POST", f"{_R}/issues/{{issue_number}}/labels", add_labels),
    ("DELETE", f"{_R}/issues/{{issue_number}}/labels/{{name}}", drop_label),
    ("POST", "/graphql", graphql),
]
