"""A language server asked for the references of a class: what an editor would do."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any


class Server:
    """A language server on its standard streams; use it as a context manager."""

    def __init__(self, command: list[str], root: Path) -> None:
        self.process = subprocess.Popen(
            command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._last = 0
        self.ask("initialize", processId=None, rootUri=root.as_uri(), capabilities={}, workspaceFolders=[
            {"uri": root.as_uri(), "name": root.name}
        ])  # fmt: skip
        self._send(method="initialized", params={})

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    def ask(self, method: str, **params: Any) -> Any:
        """The result of one request; raise RuntimeError for an error."""
        self._last += 1
        self._send(id=self._last, method=method, params=params)
        while True:
            message = self._receive()
            if "method" in message and "id" in message:  # the server asks: nothing is configured here
                self._send(id=message["id"], result=None)
            elif message.get("id") == self._last:
                if "error" in message:
                    raise RuntimeError(message["error"]["message"])
                return message["result"]

    def open(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        document = {"uri": path.as_uri(), "languageId": "python", "version": 1, "text": text}
        self._send(method="textDocument/didOpen", params={"textDocument": document})

    def _send(self, **message: Any) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.process.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        length = 0
        while line := self.process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if not length:
            raise RuntimeError("the server ended")
        answer: dict[str, Any] = json.loads(self.process.stdout.read(length))
        return answer


def references(command: list[str], root: Path, path: Path, line: int, column: int) -> tuple[int, float, float]:
    """How many references a server finds of what stands there, and seconds of its first and second answer.

    The first includes its start and whatever it reads before it can answer.
    """
    begin = time.perf_counter()
    with Server(command, root) as server:
        server.open(path)
        taken = []
        for _ in range(2):
            found = server.ask(
                "textDocument/references",
                textDocument={"uri": path.as_uri()},
                position={"line": line, "character": column},
                context={"includeDeclaration": False},
            )
            taken.append(time.perf_counter() - begin)
            begin = time.perf_counter()
    return len(found or ()), taken[0], taken[1]
