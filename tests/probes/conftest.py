"""Servers to measure, and a command line in this process."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from rebasekit import cli

from .standin import StandIn


@dataclass(frozen=True)
class Done:
    exit: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def serve() -> Iterator[Any]:
    """Start stand-ins with settings; they end with the test."""
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(StandIn(**settings))


@pytest.fixture
def run(capsys, monkeypatch):
    """Run a command line in this process, with no key of the caller's."""
    monkeypatch.delenv("REBASEKIT_API_KEY", raising=False)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*argv: object) -> Done:
        code = cli.main([str(each) for each in argv])
        return Done(code, *capsys.readouterr())

    return call


@pytest.fixture
def unused_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(holds: Callable[[], object], limit: float = 30.0) -> None:
    """Wait until something holds; fail after so many seconds."""
    deadline = time.monotonic() + limit
    while not holds():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)
