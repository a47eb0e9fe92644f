"""`speed`: figures of a server whose speed is known."""

from __future__ import annotations

import pytest

ARGUMENTS = ("--tokens", 800, "--short", 48, "--new", 20, "--repeats", 2, "--json")


@pytest.mark.parametrize("api", ["generate", "chat"])
def test_the_server_s_own_speed_is_found(serve, run, api):
    """1,000 tokens per second to read, 100 to write; chunks of 200 tokens, between which others get their turn."""
    server = serve(per_token=0.001, per_new=0.01, chunk=200)
    result = run("speed", server.url, "--api", api, *ARGUMENTS)
    assert result.exit == 0, result.err
    found = result.json
    assert 150 < found["prefill"] <= 1000
    assert 20 < found["decode"] <= 105
    first = found["first"]
    assert first["short"] < 0.3 < first["long"]
    assert first["short"] < first["short_during_prefill"]  # it waits for a chunk
    assert all(each["cached"] <= 8 for each in found["taken"])  # a chat's template, and chance
    kinds = [each["kind"] for each in found["taken"]]
    assert [kinds.count(kind) for kind in ("cold prefill", "short, idle", "decode")] == [2, 2, 2]


def test_short_answers_after_the_prefill_do_not_count(serve, run):
    """A long prompt that is read at once: the short one, sent a moment later, did not wait for it."""
    server = serve(per_token=0.001, fast_from=6)
    result = run("speed", server.url, "--tokens", 800, "--new", 2, "--repeats", 1, "--json")
    assert result.exit == 0 and len(server.asked) == 7
    assert "short, during a long prefill" not in [each["kind"] for each in result.json["taken"]]
    assert "no short question could be sent" in result.json["verdict"]


def test_a_warm_long_prompt_is_no_prefill(serve, run):
    server = serve(pool=50_000)
    assert run("speed", server.url, *ARGUMENTS).exit == 0
    server.settings.forgets_to_flush = True
    result = run("speed", server.url, *ARGUMENTS)
    assert result.exit == 4 and "is not cold" in result.err


def test_the_table(serve, run):
    result = run("speed", serve(per_token=0.0002).url, *ARGUMENTS[:-1])
    assert result.exit == 0 and "cold prefill" in result.out and "a short answer starts after" in result.out
    assert run("speed", "http://127.0.0.1:9", "--new", 1).exit == 2
