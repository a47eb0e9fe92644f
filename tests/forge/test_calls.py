"""Calls: every page is read, a label keeps its slash, no token goes out, and a dry run sends nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from standin import NAME, Fault, Standin, State, User, opened

from rebasekit.forge.calls import Calls, ForgeError, Settings, summary
from rebasekit.forge.entries import PAUSE
from rebasekit.forge.forge import Forge
from rebasekit.forge.marker import Mark

TOKEN = "ghs_verysecret0123456789"
BODY = "<!-- rebasekit pull tag=v1 -->\ntext"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Standin]:
    made = Standin()
    made.state = State(bare=tmp_path, users={TOKEN: User("bot")})
    monkeypatch.setattr(State, "heads", lambda self: {"main": "1" * 40, "b": "2" * 40})
    yield made
    made.close()


def settings(server: Standin, **values: object) -> Settings:
    waits: list[float] = []
    return Settings(server.url, NAME, TOKEN, between_writes=0, sleep=waits.append, **values)  # type: ignore[arg-type]


def test_all_pages(server: Standin) -> None:
    for _ in range(250):
        opened(server.state, "bot", "b", "2" * 40, body=BODY)
    forge = Forge(Calls(settings(server)))
    assert len(forge.open_pulls()) == 250
    assert [call.query["page"] for call in server.state.calls if call.path.endswith("/pulls")] == ["1", "2", "3"]


def test_a_label_keeps_its_slash(server: Standin) -> None:
    pull = opened(server.state, "bot", "b", "2" * 40, labels=[PAUSE, "keep"])
    forge = Forge(Calls(settings(server)))
    forge.label(pull["number"], (PAUSE, "keep"), ["new"], [PAUSE])
    assert [label["name"] for label in pull["labels"]] == ["keep", "new"]
    server.state.calls.clear()
    forge.label(pull["number"], ("keep", "new"), ["new"], [PAUSE])
    assert server.state.calls == []
    forge.label(pull["number"], ("gone",), [], ["gone"])  # somebody took it off in between


def test_the_token_does_not_go_into_a_body(server: Standin) -> None:
    forge = Forge(Calls(settings(server)))
    forge.report_trouble("run", "s", f"title {TOKEN}", f"text {TOKEN}", ["rebase"])
    (issue,) = server.state.issues
    assert TOKEN not in str(issue)
    assert issue["title"] == "title ***"


def test_the_same_trouble_is_written_once(server: Standin) -> None:
    forge = Forge(Calls(settings(server)))
    for state in ("one", "one", "two"):
        forge.report_trouble("v1", state, "title", f"text {state}", ["rebase"])
    forge.report_trouble("v2", "one", "title", "text", ["rebase"])
    writes = [(call.verb, call.path.rpartition("/")[2]) for call in server.state.calls if call.writes]
    assert writes == [("POST", "issues"), ("PATCH", "1"), ("POST", "issues")]
    assert forge.troubled() == {"v1", "v2"}
    server.state.add("somebody", body=server.state.issues[0]["body"])  # a copy of somebody's is not ours
    forge.close_trouble("v1")
    assert [issue["state"] for issue in server.state.issues] == ["closed", "open", "open"]


def test_said_once(server: Standin) -> None:
    pull = opened(server.state, "bot", "b", "2" * 40)
    forge = Forge(Calls(settings(server)))
    mark = Mark("superseded", {"by": "2"})
    server.state.comments[1] = [{"body": str(mark), "user": {"login": "somebody"}}]
    assert forge.say_once(pull["number"], mark, "text")
    assert not forge.say_once(pull["number"], mark, "text")
    assert len(server.state.comments[1]) == 2


@pytest.mark.parametrize(
    ("fault", "words", "status"),
    [
        (Fault("GET", "/user", 401, body={"message": "Bad credentials"}), "does not take the token", 401),
        (Fault("GET", "/user", 403, body={"message": "Resource not accessible"}), "cannot say who it is", 403),
        (Fault("GET", "/user", 403, {"retry-after": "5000"}), "rate limit holds", 403),
        (Fault("GET", "/user", 503, times=9), "503", 503),
        (Fault("GET", "/user", 418), "refuses `GET /user` with 418", 418),
    ],
)
def test_errors_say_what_they_mean(server: Standin, fault: Fault, words: str, status: int) -> None:
    server.state.faults = [fault]
    with pytest.raises(ForgeError, match=words) as error:
        Forge(Calls(settings(server, patience=100)))
    assert error.value.status == status
    assert TOKEN not in str(error.value)


def test_nobody_answers() -> None:
    waits: list[float] = []
    with pytest.raises(ForgeError, match="no answer from") as error:
        Forge(Calls(Settings("http://127.0.0.1:1", NAME, TOKEN, sleep=waits.append)))
    assert error.value.status == 0
    assert waits == [1.0, 4.0, 10.0]


def test_a_dry_run_sends_nothing(server: Standin) -> None:
    told: list[str] = []
    forge = Forge(Calls(settings(server), dry=told.append))
    server.state.calls.clear()
    pull = forge.create_pull("b", "main", "title", "x" * 100, True)
    forge.edit_pull(pull, state="closed")
    assert server.state.entries == {}
    assert [call for call in server.state.calls if call.writes] == []
    assert told[0].startswith(f'POST /repos/{NAME}/pulls {{"title": "title"')
    assert told[1] == f'PATCH /repos/{NAME}/pulls/N {{"state": "closed"}}'


def test_summary() -> None:
    text = "<!-- rebasekit pull tag=v1 -->\n\nfirst\n" + "x" * 100
    assert summary({"body": text, "labels": ["a"], "n": 1}) == (
        '{"body": "first\\u2026 (' + str(len(text)) + ' characters)", "labels": ["a"], "n": 1}'
    )
