"""Requests to a server that still has work."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from rebasekit.steps.smoke import client as module
from rebasekit.steps.smoke.client import Client, Refused


@pytest.fixture
def busy():
    """A server that refuses to flush as often as `left` says."""

    class Handler(BaseHTTPRequestHandler):
        left = 0
        asked = 0

        def do_POST(self):
            Handler.asked += 1
            Handler.left -= 1
            body = b"requests are running" if Handler.left >= 0 else b"{}"
            self.send_response(400 if Handler.left >= 0 else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_args):
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield Handler, Client(server.server_address[1], 10.0)
    server.shutdown()
    server.server_close()


def test_a_flush_waits_for_what_lingers(busy):
    handler, client = busy
    handler.left = 2
    client.flush()
    assert handler.asked == 3


def test_a_server_that_stays_busy_is_said(busy, monkeypatch):
    handler, client = busy
    handler.left = 10_000
    monkeypatch.setattr(module, "_LINGERS", 0.5)
    with pytest.raises(Refused, match="HTTP 400"):
        client.flush()
    assert handler.asked >= 2
