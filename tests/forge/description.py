"""GitHub's own description of its API, cut to what the bot uses, and Prism to hold every call against it.

Both come from npm at test time and are kept between runs. Without npm the tests that need them are skipped, or fail
where `CI` is set. Known gaps of the description: a bare array of labels is refused although the API takes it, unknown
fields of a body pass, and a path with a raw slash in a ref is not found. `/graphql` is not in it; ours takes any
object.
"""

from __future__ import annotations

import copy
import json
import os
import shutil
import socket
import subprocess
import tarfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from standin import ROUTES, Standin

DESCRIPTION, PRISM = "@octokit/openapi@23.0.2", "@stoplight/prism-cli@5.16.0"
_FILE = "package/generated/api.github.com.json"


def kept() -> Path:
    own = os.environ.get("REBASEKIT_TEST_CACHE")
    return (Path(own) if own else Path.home() / ".cache" / "rebasekit-tests") / "forge"


def give_up(why: str) -> None:
    if os.environ.get("CI"):
        pytest.fail(f"the forge's description is needed in CI: {why}")
    pytest.skip(f"needs npm: {why}")


def npm(*argv: str, cwd: Path) -> str:
    program = shutil.which("npm")
    if program is None:
        give_up("there is no `npm`")
    done = subprocess.run([str(program), *argv], cwd=cwd, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode:
        give_up((done.stderr.strip().splitlines() or ["it failed"])[-1])
    return done.stdout


def _made(name: str, make: Any) -> Path:
    """A folder that is made once per machine; another run that is faster wins."""
    folder = kept() / name
    if folder.is_dir():
        return folder
    fresh = folder.with_name(f"{folder.name}.{os.getpid()}")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    try:
        make(fresh)
        fresh.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return folder


def whole() -> dict[str, Any]:
    """The description as it is published: one file out of the package, which has a dozen more."""

    def make(fresh: Path) -> None:
        (name,) = (entry["filename"] for entry in json.loads(npm("pack", "--json", DESCRIPTION, cwd=fresh)))
        with tarfile.open(fresh / name) as archive:
            member = archive.extractfile(_FILE)
            assert member is not None
            (fresh / "api.json").write_bytes(member.read())
        (fresh / name).unlink()

    found: dict[str, Any] = json.loads((_made(DESCRIPTION.replace("/", "-"), make) / "api.json").read_text())
    return found


def program() -> Path:
    def make(fresh: Path) -> None:
        npm("install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(fresh), PRISM, cwd=fresh)

    return _made(PRISM.replace("/", "-"), make) / "node_modules" / ".bin" / "prism"


def cut(document: dict[str, Any]) -> dict[str, Any]:
    """The description with the stand-in's calls and all that they refer to."""
    paths: dict[str, Any] = {}
    for verb, path, _ in ROUTES:
        if path == "/graphql":
            any_object = {"application/json": {"schema": {"type": "object"}}}
            answer = {"200": {"description": "ours", "content": any_object}}
            paths[path] = {"post": {"requestBody": {"content": any_object, "required": True}, "responses": answer}}
            continue
        item = document["paths"][path]
        paths.setdefault(path, {k: v for k, v in item.items() if k == "parameters"})[verb.lower()] = item[verb.lower()]
    found: dict[str, Any] = {"openapi": document["openapi"], "info": document["info"], "paths": paths, "components": {}}
    todo = list(_refs(paths))
    while todo:
        _, _, group, name = todo.pop().split("/")
        into = found["components"].setdefault(group, {})
        if name not in into:
            into[name] = document["components"][group][name]
            todo += _refs(into[name])
    return found


def _refs(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for inner in value.values():
            yield from _refs(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _refs(inner)


class Shape:
    """Fills the stand-in's answers up to what the description requires; what they say stays."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document

    def __call__(self, verb: str, path: str, status: int, data: Any) -> Any:
        operation = self.document["paths"][path][verb.lower()]
        answer = self._known(operation["responses"].get(str(status), {}))
        schema = answer.get("content", {}).get("application/json", {}).get("schema")
        return self._filled(schema, copy.deepcopy(data)) if schema else data

    def _known(self, value: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in value:
            _, _, group, name = value["$ref"].split("/")
            value = self.document["components"][group][name]
        return value

    def _filled(self, schema: dict[str, Any], data: Any) -> Any:
        schema = self._known(schema)
        for word in ("oneOf", "anyOf"):
            if word in schema:
                options = [self._known(option) for option in schema[word]]
                fits = [o for o in options if self._fits(o, data)] or options
                schema = {k: v for k, v in schema.items() if k != word} | fits[0]
        for part in schema.get("allOf", ()):
            data = self._filled(part, data)
        if data is None and schema.get("nullable"):
            return None
        kind = schema.get("type") or ("object" if "properties" in schema else "")
        if kind == "object" and (data is None or isinstance(data, dict)):
            data = dict(data or {})
            for name, inner in schema.get("properties", {}).items():
                if name in data or name in schema.get("required", ()):
                    data[name] = self._filled(inner, data.get(name))
            return data
        if kind == "array":
            return [self._filled(schema.get("items", {}), item) for item in data or []]
        return self._example(schema, kind) if data is None else data

    def _fits(self, schema: dict[str, Any], data: Any) -> bool:
        kinds = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}
        return isinstance(data, kinds.get(schema.get("type", "object"), object))

    def _example(self, schema: dict[str, Any], kind: str) -> Any:
        if schema.get("enum"):
            return schema["enum"][0]
        forms = {"date-time": "2026-01-05T08:00:00Z", "uri": "https://forge.example.invalid/x", "email": "a@b.invalid"}
        plain = {"string": forms.get(schema.get("format", ""), "x"), "integer": 1, "number": 1, "boolean": False}
        return plain.get(kind, {})


@contextmanager
def prism(server: Standin, folder: Path) -> Iterator[str]:
    """Prism in front of a stand-in; the address to call."""
    document = cut(whole())
    (folder / "api.json").write_text(json.dumps(document))
    server.shape = Shape(document)
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    argv = [str(program()), "proxy", str(folder / "api.json"), server.url, "--errors"]
    argv += ["-h", "127.0.0.1", "-p", str(port)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([*argv, "-v", "warn"], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        try:
            _wait(port, process, folder / "log")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(20)


def _wait(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(300):
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/user", timeout=2):
                return
        except urllib.error.HTTPError:
            return  # it answers
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"Prism does not start: {log.read_text(errors='replace')[-2000:]}")
