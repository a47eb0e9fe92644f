"""The token is seen by the forge and by git's own process, and by nobody else."""

from __future__ import annotations

import base64
import os
import shutil
import stat
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import pytest
from standin import Fault
from world import TOKEN, World

from rebasekit.errors import UsageError
from rebasekit.upstream.credentials import Access
from rebasekit.upstream.project import Project, Push

FORMS = (TOKEN, base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode(), quote(TOKEN, safe=""))

WRAPPER = """#!/bin/sh
printf '%s\\n' "$*" >> {log}
exec {git} "$@"
"""


def wrapped(world: World) -> Path:
    """A `git` that writes its arguments down, before the real one on PATH."""
    folder, log = world.root / "bin", world.root / "argv.log"
    folder.mkdir()
    program = folder / "git"
    program.write_text(WRAPPER.format(log=log, git=shutil.which("git")))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    world.case.env["PATH"] = f"{folder}{os.pathsep}{world.case.env['PATH']}"
    return log


def files_with(root: Path, words: tuple[str, ...]) -> list[Path]:
    found = []
    for path in root.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            found += [path for word in words if word.encode() in data]
    return found


def test_nowhere_but_in_the_header(near: World) -> None:
    log = wrapped(near)
    near.state.faults = [Fault("POST", "/labels$", 403, body={"message": f"no, {TOKEN}"})]
    first = near.bot("-vv", GIT_TRACE="1", GIT_TRACE_CURL="1", GIT_CURL_VERBOSE="1", GIT_TRACE_REDACT="0")
    second = near.bot("-vv")
    assert (first.exit, second.exit) == (4, 0)
    assert "push" in log.read_text()
    assert all(f"token {TOKEN}" == call.headers["authorization"] for call in near.state.calls)
    told = [first.stdout, first.stderr, second.stdout, second.stderr]
    told += [str(entry) for entry in near.state.entries.values()] + [str(call.body) for call in near.state.calls]
    told += [str(near.state.comments)]
    assert not [text for text in told for form in FORMS if form in text]
    assert files_with(near.root, FORMS) == []


def test_children_do_not_inherit_it(near: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from rebasekit.steps.bot import trials

    seen: list[dict[str, str]] = []
    monkeypatch.setattr(trials, "planned", lambda *_: seen.append(dict(os.environ)) or {"build": "x", "smoke": "x"})
    near.bot(GH_TOKEN="other-token", GITHUB_TOKEN="third-token")
    (env,) = seen
    assert not [value for value in env.values() if value in (TOKEN, "other-token", "third-token")]


class Backend:
    """git over HTTP: `git http-backend` behind a server that asks for the token."""

    def __init__(self, root: Path) -> None:
        self.asked: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def _any(self) -> None:
                outer.asked.append(self.headers.get("authorization") or "")
                if self.headers.get("authorization") != f"Basic {FORMS[1]}":
                    self.send_response(401)
                    self.send_header("www-authenticate", 'Basic realm="x"')
                    self.send_header("content-length", "0")
                    self.end_headers()
                    return
                path, _, query = self.path.partition("?")
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                env = {
                    "PATH": os.environ["PATH"],
                    "GIT_PROJECT_ROOT": str(root),
                    "GIT_HTTP_EXPORT_ALL": "1",
                    "REMOTE_USER": "me",
                    "PATH_INFO": path,
                    "QUERY_STRING": query,
                    "REQUEST_METHOD": self.command,
                    "CONTENT_TYPE": self.headers.get("content-type") or "",
                    "HTTP_CONTENT_ENCODING": self.headers.get("content-encoding") or "",
                    "CONTENT_LENGTH": str(len(body)),
                    "GIT_PROTOCOL": self.headers.get("git-protocol") or "",
                }
                done = subprocess.run(["git", "http-backend"], env=env, input=body, capture_output=True, check=True)
                head, _, content = done.stdout.partition(b"\r\n\r\n")
                fields = dict(line.split(": ", 1) for line in head.decode().splitlines())
                self.send_response(int(fields.pop("Status", "200 OK").split()[0]))
                for key, value in fields.items():
                    self.send_header(key, value)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = _any

            def log_message(self, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/remote.git"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def test_over_http(near: World) -> None:
    """The whole run against a remote that wants the token: it is never an argument, in no file, and in no message."""
    near.git("config", "http.receivepack", "true", cwd=near.bare)
    log, backend = wrapped(near), Backend(near.root)
    try:
        result = near.bot("--remote", backend.url)
        assert result.exit == 0, result.stdout + result.stderr
        wrong = near.bot("--remote", backend.url.replace("remote", "other"))
    finally:
        backend.close()
    assert "refs/heads/rebasekit/v1.1.0" in near.refs()
    assert set(backend.asked) == {f"Basic {FORMS[1]}"}
    assert wrong.exit == 4
    assert backend.url.split("/")[2] in log.read_text()
    assert files_with(near.root, FORMS) == []
    assert not [text for text in (wrong.stdout, wrong.stderr, result.stdout) for form in FORMS if form in text]


def test_the_header_is_for_one_origin_only() -> None:
    access = Access.of("https://forge.example.invalid/me/fork.git", "secret")
    before = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "http.proxy", "GIT_CONFIG_VALUE_0": "p", "GIT_TRACE2": "1"}
    env = access.environment(before)
    assert env["GIT_CONFIG_COUNT"] == "2"
    assert env["GIT_CONFIG_KEY_1"] == "http.https://forge.example.invalid/.extraHeader"
    assert env["GIT_CONFIG_VALUE_0"] == "p"
    assert "GIT_TRACE2" not in env
    assert "secret" not in repr(access)


def test_a_password_in_the_url_is_taken_out() -> None:
    access = Access.of("https://me:p%40ss@forge.example.invalid:8443/me/fork")
    assert access.url == "https://forge.example.invalid:8443/me/fork"
    basic = base64.b64encode(b"me:p@ss").decode()
    assert access.environment({})["GIT_CONFIG_VALUE_0"] == f"Authorization: Basic {basic}"
    assert access.redact(f"a p@ss b p%40ss c {basic}") == "a *** b *** c ***"
    assert Access.of("https://me:old@forge.example.invalid/x", "new").secret == "new"


@pytest.mark.parametrize("url", ["http://forge.example.invalid/x", "ext::sh", "-x", "ftp://x/y", "https://-x/y"])
def test_addresses_that_are_refused(url: str) -> None:
    with pytest.raises(UsageError):
        Access.of(url, "secret")


def test_without_a_token_git_brings_its_own() -> None:
    env = Access.of("https://forge.example.invalid/me/fork").environment({"GIT_TRACE": "1"})
    assert "GIT_CONFIG_COUNT" not in env
    assert env["GIT_TRACE"] == "1"


def test_a_refusal_over_http_is_a_refusal(near: World) -> None:
    """No `http.receivepack`: the server says no, which is not the same as no answer."""
    backend = Backend(near.root)
    try:
        near.git("config", "http.receivepack", "false", cwd=near.bare)
        project = Project(Access.of(backend.url, TOKEN), near.root / "own")
        base = project.checkout("main")
        pushed = project.push("refs/heads/x", base.id, "")
    finally:
        backend.close()
    assert pushed.outcome is Push.REFUSED
    assert "403" in pushed.message
