"""`depth_probe`: what a cache matches of a prompt that leaves a known one."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("api", ["generate", "completions", "chat"])
def test_keys_and_values_alone_match_every_token(serve, run, api):
    result = run("depth_probe", serve().url, "--api", api, "--tokens", 640, "--json")
    assert result.exit == 0, result.err
    cuts = result.json["cuts"]
    assert [cut["eighths"] for cut in cuts] == [8, 7, 6, 5, 4, 3, 2, 1]
    for cut in cuts:
        assert cut["cached"] == cut["cut"] and abs(cut["cut"] - 80 * cut["eighths"]) <= 16
    assert result.json["verdict"].startswith("8 of 8 cuts match at least 90%; at most 0 known tokens")


def test_a_hybrid_model_goes_on_from_the_end_of_a_chunk(serve, run):
    """A state at every 100 tokens, and at the end of the chain: a cut in between is read again from there."""
    result = run("depth_probe", serve(chunk=100, states=50).url, "--tokens", 640, "--json")
    found = {cut["cut"]: cut["cached"] for cut in result.json["cuts"]}
    assert found == {640: 640, 560: 500, 480: 400, 400: 400, 320: 300, 240: 200, 160: 100, 80: 0}
    assert "nothing is matched up to 80 tokens" in result.json["verdict"]
    assert "at most 80 known tokens are read again" in result.json["verdict"]


def test_other_chains_in_between(serve, run):
    server = serve(pool=1500, chunk=1024)
    kept = run("depth_probe", server.url, "--tokens", 640, "--others", 1, "--json").json
    lost = run("depth_probe", server.url, "--tokens", 640, "--others", 2, "--json").json
    assert all(cut["share"] == 1 for cut in kept["cuts"])
    assert all(cut["cached"] <= 2 for cut in lost["cuts"])  # by chance


def test_an_earlier_cut_leaves_nothing_that_a_later_one_finds(serve, run):
    """Each has a chain of its own, also where the cache may not be emptied."""
    server = serve(chunk=100, states=50, pool=20_000)
    result = run("depth_probe", server.url, "--tokens", 640, "--no-flush", "--json")
    assert len({prompt[:12] for prompt in server.asked}) == 8 and server.flushed == 0
    assert [cut["cached"] for cut in result.json["cuts"]] == [640, 500, 400, 400, 300, 200, 100, 0]


def test_the_table_and_a_length_that_cannot_be_cut(serve, run):
    result = run("depth_probe", serve().url, "--tokens", 160)
    assert result.exit == 0 and len(result.out.splitlines()) < 24 and "87.5%" in result.out
    assert run("depth_probe", serve().url, "--tokens", 12).exit == 2
    server = serve(context=512)
    result = run("depth_probe", server.url, "--tokens", 500)  # what comes behind the cut does not fit
    assert (result.exit, server.asked) == (2, [])
