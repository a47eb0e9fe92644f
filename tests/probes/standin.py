"""A server on loopback that has what the probes look at: a prefix tree in a limited pool, chunks, counts, and faults.

Bytes are its tokens. A whole edge of the tree goes at a time, least recently used first, as in a radix cache; with
`states` an edge can only be matched up to a point that still has one, as with a hybrid model.
"""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HEAD, TAIL = b"<user>", b"<assistant>"


@dataclass
class Node:
    key: tuple[int, ...] = ()
    parent: Node | None = None
    children: dict[int, Node] = field(default_factory=dict)
    used: int = 0
    state: bool = False


class Tree:
    """Prefixes that were asked, in at most `pool` tokens and `states` points to go on from (None: any point)."""

    def __init__(self, pool: int, states: int | None = None) -> None:
        self.pool, self.states = pool, states
        self.root, self.clock = Node(), 0

    def nodes(self) -> list[Node]:
        found, left = [], list(self.root.children.values())
        while left:
            node = left.pop()
            found.append(node)
            left += node.children.values()
        return found

    def match(self, ids: tuple[int, ...]) -> int:
        """How many of the tokens are there, at most all but the last; they count as used now."""
        self.clock += 1
        node, depth, good = self.root, 0, 0
        ids = ids[:-1]
        while depth < len(ids) and (child := node.children.get(ids[depth])):
            same = _same(child.key, ids[depth:])
            if same < len(child.key):
                child = self._split(child, same)
            node, depth = child, depth + same
            node.used = self.clock
            if self.states is None or node.state:
                good = depth
        return good

    def insert(self, ids: tuple[int, ...]) -> None:
        """Have the tokens in the tree, and drop what was used longest ago."""
        node, depth = self.root, 0
        while depth < len(ids) and (child := node.children.get(ids[depth])):
            same = _same(child.key, ids[depth:])
            node = self._split(child, same) if same < len(child.key) else child
            node.used, depth = self.clock, depth + same
        if depth < len(ids):
            leaf = Node(ids[depth:], node, used=self.clock)
            node.children[ids[depth]] = leaf
            node = leaf
        node.state = True
        self._evict(node)

    def _split(self, node: Node, at: int) -> Node:
        parent = node.parent
        assert parent is not None
        upper = Node(node.key[:at], parent, {node.key[at]: node}, node.used)
        parent.children[upper.key[0]] = upper
        node.key, node.parent = node.key[at:], upper
        return upper

    def _evict(self, kept: Node) -> None:
        while sum(len(node.key) for node in self.nodes()) > self.pool:
            leaves = [node for node in self.nodes() if not node.children and node is not kept]
            oldest = min(leaves, key=lambda node: node.used)
            assert oldest.parent is not None
            del oldest.parent.children[oldest.key[0]]
        while self.states is not None:
            holders = [node for node in self.nodes() if node.state]
            if len(holders) <= self.states:
                return
            min(holders, key=lambda node: node.used).state = False


def _same(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    for number, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return number
    return min(len(a), len(b))


@dataclass
class Settings:
    """How the server is, and what is wrong with it."""

    pool: int = 2048
    states: int | None = None
    context: int = 1024
    chunk: int = 128
    per_token: float = 0.0  # seconds to read one
    fast_from: int = 10**9  # request from which reading takes no time
    per_new: float = 0.0  # seconds to write one
    reports: bool = True
    zeros: bool = False  # newer releases report a zero too
    truncates: bool = False
    native: bool = True
    models: bool = True  # has the OpenAI API's list
    says: bool = True  # how long a prompt may be
    tokenizes: bool = True
    caches: bool = True
    incremental: bool = False
    mark: str = ""  # what each answer's text begins with
    key: str = ""
    busy: bool = False  # refuses to flush
    flushes: bool = True
    forgets_to_flush: bool = False
    role_first: float = 0.0  # seconds between the role and the first content
    fault: str = ""  # `500`, `error-event`, `breaks`, `hangs`, `empty`, `drops-truncated`
    fails_from: int = 1  # request at which the fault begins
    build: int = 0  # two builds answer alike when this is the same
    random: bool = False  # answers differ from time to time


class StandIn:
    """The running server; a context manager. `asked` are the prompts that reached the model, as token ids."""

    def __init__(self, port: int = 0, **settings: Any) -> None:
        self.settings = Settings(**settings)
        self.tree = Tree(self.settings.pool, self.settings.states)
        self.engine, self.lock = threading.Lock(), threading.Lock()
        self.asked: list[tuple[int, ...]] = []
        self.headers: list[dict[str, str]] = []
        self.flushed = 0
        self.ending = threading.Event()
        stand_in = self

        class Handler(_Handler):
            server_of = stand_in

        self.http = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.http.daemon_threads = True
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http.server_port}"

    def __enter__(self) -> StandIn:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ending.set()
        self.http.shutdown()
        self.http.server_close()

    def read(self, ids: tuple[int, ...]) -> int:
        """Read a prompt chunk by chunk, others in between; how many tokens came from the cache."""
        settings = self.settings
        with self.lock:
            cached = self.tree.match(ids)
        for start in range(cached, len(ids), settings.chunk):
            part = ids[: start + settings.chunk]
            with self.engine:
                slow = len(self.asked) < settings.fast_from
                time.sleep((len(part) - start) * settings.per_token * slow)
            time.sleep(0)
            with self.lock:
                self.tree.insert(part)
        return cached

    def answer(self, ids: tuple[int, ...], new: int) -> list[int]:
        salt = len(self.asked) if self.settings.random else self.settings.build
        return [97 + (31 * sum(ids) + 7 * number + salt * number) % 26 for number in range(new)]


class _Handler(BaseHTTPRequestHandler):
    server_of: StandIn

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        settings = self.server_of.settings
        if self._locked():
            return
        if self.path == "/v1/models" and settings.models:
            self._say(200, {"data": [{"id": "bytes", "max_model_len": settings.context if settings.says else None}]})
        elif self.path == "/health":
            self._say(200, {})
        elif self.path == "/server_info" and settings.native:
            self._say(200, {
                "version": "0.5.20", "served_model_name": "bytes", "context_length": settings.context,
                "max_req_input_len": settings.context - 6, "max_total_num_tokens": settings.pool,
                "allow_auto_truncate": settings.truncates, "enable_cache_report": settings.reports,
                "disable_radix_cache": not settings.caches, "chunked_prefill_size": settings.chunk,
                "max_mamba_cache_size": settings.states,
                "internal_states": [{"effective_max_running_requests_per_dp": 8}],
            })  # fmt: skip
        else:
            self._say(404, {"detail": "Not Found"})

    def do_POST(self) -> None:
        mine, settings = self.server_of, self.server_of.settings
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        mine.headers.append(dict(self.headers))
        if self._locked():
            return
        path = self.path.partition("?")[0]
        if path == "/tokenize" and settings.tokenizes:
            ids = _chat(body["messages"]) if "messages" in body else tuple(body["prompt"].encode())
            self._say(200, {"tokens": ids, "count": len(ids), "max_model_len": settings.context})
        elif path == "/flush_cache" and settings.flushes:
            if settings.busy:
                self._say(400, {"error": {"message": "Flush cache failed."}})
                return
            mine.flushed += 1
            if not settings.forgets_to_flush:
                with mine.lock:
                    mine.tree = Tree(settings.pool, settings.states)
            self._say(200, {})
        elif path == "/generate" and settings.native:
            self._generate(tuple(body["input_ids"]), body["sampling_params"]["max_new_tokens"], openai="")
        elif path == "/v1/completions":
            prompt = body["prompt"]
            ids = tuple(prompt.encode()) if isinstance(prompt, str) else tuple(prompt)
            self._generate(ids, body["max_tokens"], openai="completions")
        elif path == "/v1/chat/completions":
            self._generate(_chat(body["messages"]), body["max_tokens"], openai="chat")
        else:
            self._say(404, {"detail": "Not Found"})

    def _generate(self, ids: tuple[int, ...], new: int, *, openai: str) -> None:
        mine, settings = self.server_of, self.server_of.settings
        if len(ids) >= settings.context - 6:
            if not settings.truncates:
                self._say(400, {"error": {"message": "the input is longer than the context"}})
                return
            ids = ids[: settings.context - 6]
        if settings.fault == "drops-truncated":
            ids = ids[: len(ids) // 2]
        mine.asked.append(ids)
        fault = settings.fault if len(mine.asked) >= settings.fails_from else ""
        if fault == "500":
            self._say(500, {"error": {"message": "the scheduler is gone"}})
            return
        if fault == "hangs":
            mine.ending.wait(30)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        if openai == "chat":  # the first byte is no content
            self._event({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]})
        if fault == "error-event":
            self._event({"error": {"message": "out of memory", "code": 500}})
            return
        time.sleep(settings.role_first)
        cached = mine.read(ids)
        made = [] if fault == "empty" else mine.answer(ids, new)
        for number in range(1, len(made) + 1):
            if fault == "breaks" and number == 2:
                return
            self._token(openai, ids, cached, made, number)
            time.sleep(settings.per_new if number < len(made) else 0)
        if openai or not made:
            self._close(openai, ids, cached, made)
        self._event("[DONE]")

    def _token(self, openai: str, ids: tuple[int, ...], cached: int, made: list[int], number: int) -> None:
        text = self.server_of.settings.mark + bytes(made[:number]).decode()
        new = text if number == 1 else text[-1]
        if openai == "chat":
            self._event({"choices": [{"index": 0, "delta": {"content": new}}]})
        elif openai:
            self._event({"choices": [{"index": 0, "text": new}]})
        elif self.server_of.settings.incremental:
            self._event({"text": new, "output_ids": made[number - 1 : number], **self._meta(ids, cached, number)})
        else:
            self._event({"text": text, "output_ids": made[:number], **self._meta(ids, cached, number)})

    def _meta(self, ids: tuple[int, ...], cached: int, number: int) -> dict[str, Any]:
        meta = {"prompt_tokens": len(ids), "completion_tokens": number, "finish_reason": None}
        return {"meta_info": meta | ({"cached_tokens": cached} if self.server_of.settings.reports else {})}

    def _close(self, openai: str, ids: tuple[int, ...], cached: int, made: list[int]) -> None:
        if not openai:
            self._event({"text": "", "output_ids": [], **self._meta(ids, cached, 0)})
            return
        settings = self.server_of.settings
        details = {"cached_tokens": cached} if settings.reports and (cached or settings.zeros) else None
        usage = {"prompt_tokens": len(ids), "completion_tokens": len(made), "prompt_tokens_details": details}
        self._event({"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]})
        self._event({"choices": [], "usage": usage})

    def _event(self, data: object) -> None:
        text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
        self.wfile.write(f"data: {text}\n\n".encode())
        self.wfile.flush()

    def _locked(self) -> bool:
        key = self.server_of.settings.key
        if key and self.headers.get("Authorization") != f"Bearer {key}":
            self._say(401, {"error": "Unauthorized"})
            return True
        return False

    def _say(self, status: int, data: object) -> None:
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _chat(messages: list[dict[str, str]]) -> tuple[int, ...]:
    """A template with a mark behind every turn and before the next answer, as most have one."""
    text = b""
    for number, message in enumerate(messages):
        assert message["role"] == ("user", "assistant")[number % 2]
        text += (HEAD if number % 2 == 0 else b"") + message["content"].encode() + TAIL * (number % 2 == 0)
    return tuple(text)
