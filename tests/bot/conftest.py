"""A project with a remote, an upstream and a forge, all on this machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

_HERE = Path(__file__).parent


def _load(name: str, path: Path) -> None:
    if name in sys.modules:
        return
    spec = spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])


_load("standin", _HERE.parent / "forge" / "standin.py")
_load("description", _HERE.parent / "forge" / "description.py")
_load("world", _HERE / "world.py")

from description import prism  # noqa: E402
from standin import Standin  # noqa: E402
from world import World  # noqa: E402


@pytest.fixture(scope="session")
def direct() -> Iterator[tuple[Standin, str]]:
    server = Standin()
    yield server, server.url
    server.close()


@pytest.fixture(scope="session")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Standin, str]]:
    """The stand-in behind Prism, which holds requests and answers against the forge's own description."""
    server = Standin()
    with prism(server, tmp_path_factory.mktemp("prism")) as url:
        yield server, url
    server.close()


@pytest.fixture(params=["direct", "described"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    server, url = request.getfixturevalue(request.param)
    return World(tmp_path, server, url)


@pytest.fixture
def near(direct: tuple[Standin, str], tmp_path: Path) -> World:
    """Without Prism: for what the description has nothing to say about."""
    return World(tmp_path, *direct)


@pytest.fixture(autouse=True)
def _no_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REBASEKIT_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "GITHUB_REPOSITORY", "GITHUB_API_URL"):
        monkeypatch.delenv(name, raising=False)
