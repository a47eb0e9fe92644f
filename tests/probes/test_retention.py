"""`load_multi`: the shape of a cache that is too small, and what bounds it."""

from __future__ import annotations

import pytest

from rebasekit.probes.measure.retention import Asked, Retention
from rebasekit.probes.measure.server import Server


def shares(result):
    return {each["chains"]: each["retention"] for each in result.json["sweep"]}


@pytest.mark.parametrize("api", ["generate", "completions", "chat"])
def test_one_chain_too_many_loses_all_of_them(serve, run, api):
    """3 × 660 tokens do not fit in 1,480 and 2 × 660 do; the whole prompt goes at a time."""
    server = serve(pool=1480, chunk=1024)
    result = run("load_multi", server.url, "--api", api, "--chains", 2, 3, "--tokens", 660, "--laps", 3, "--json")
    assert result.exit == 0, result.err
    found = shares(result)
    assert all(first <= 0.02 for first, *_ in found.values())
    assert all(share > 0.98 for share in found[2][1:])
    assert all(share <= 0.02 for share in found[3][1:])
    assert result.json["sweep"][0]["bound"] == "2 × 660 = 1,320 tokens fit in 1,480"
    assert result.json["sweep"][1]["bound"] == "tokens: 3 × 660 = 1,980 of 1,480"
    assert server.flushed == 2
    assert result.json["complete"] is True and result.json["stopped"] is None
    assert result.json["server"]["pool"] == 1480 and result.json["api"] == api


def test_a_cache_that_drops_the_end_of_a_chain_first_keeps_some_of_each(serve, run):
    result = run("load_multi", serve(pool=1480, chunk=64).url, "--chains", 3, "--tokens", 660, "--json")
    (first, second, third) = shares(result)[3]
    assert first == 0 and second == third and 0.1 < second < 0.5


def test_recurrent_states_are_named_when_tokens_fit(serve, run):
    """A hybrid model: every chunk of every chain needs a state to go on from."""
    result = run("load_multi", serve(pool=4000, chunk=100, states=6).url, "--chains", 2, "--tokens", 800, "--json")
    assert shares(result)[2][1] < 0.9
    assert result.json["sweep"][0]["bound"] == "recurrent states: 6 slots; 2 × 800 = 1,600 tokens fit in 4,000"


@pytest.mark.parametrize(("grow", "second"), [((), 0.0), (("--grow", 20), 600 / 620)])
def test_a_conversation_that_grows_is_matched_where_a_repeated_prompt_is_not(serve, run, grow, second):
    """A hybrid model has a state at the end of a prompt, and the last token of the same prompt must be read again."""
    server = serve(pool=4000, chunk=1024, states=10)
    result = run("load_multi", server.url, "--chains", 2, "--tokens", 600, "--laps", 2, *grow, "--json")
    assert shares(result)[2][1] == pytest.approx(second)
    assert (
        result.json["sweep"][0]["bound"]
        == f"2 × {620 if grow else 600} = {1240 if grow else 1200:,} tokens fit in 4,000"
    )
    assert result.json["best"] == pytest.approx(second)
    said = (
        "2 chains of 600 tokens stay (97%)"
        if grow
        else "0% of a prompt that is asked again can be matched (a chunk has 1,024 tokens): give --grow"
    )
    assert result.json["verdict"].startswith(said)


def test_a_chat_goes_on_with_turns(serve, run):
    """A longer first turn would leave the known prompt where its template ends, before the state to go on from."""
    server = serve(pool=4000, chunk=1024, states=10)
    argv = ("load_multi", server.url, "--api", "chat", "--chains", 2, "--tokens", 300, "--grow", 60, "--laps", 3)
    result = run(*argv, "--json")
    assert result.exit == 0, result.err
    asked = result.json["asked"]
    assert [each["cached"] for each in asked[2:]] == [each["prompt"] for each in asked[:-2]]
    assert [each["prompt"] for each in asked[::2]] == pytest.approx([300, 360, 420], abs=8)
    assert server.asked[2][: len(server.asked[0])] == server.asked[0]
    assert bytes(server.asked[-1]).count(b"<user>") == 3


def test_a_turn_that_is_more_than_was_to_be_added_is_a_short_one(serve, run):
    chat = ("--api", "chat", "--chains", 1, "--tokens", 60, "--grow", 1)
    result = run("load_multi", serve(states=9).url, *chat, "--json")
    assert result.exit == 0, result.err
    first, second, third = result.json["asked"]
    assert second["cached"] == first["prompt"] and third["cached"] == second["prompt"]
    assert 60 < second["prompt"] < 110


def test_the_table_is_one_screen(serve, run):
    result = run("load_multi", serve(pool=1480, chunk=1024).url, "--chains", 2, 3, "--tokens", 660)
    assert result.exit == 0 and len(result.out.splitlines()) < 24
    assert "2 chains of 660 tokens stay (100%); 3 do not (0%): tokens: 3 × 660 = 1,980 of 1,480" in result.out


def test_the_same_seed_asks_the_same_and_another_asks_other_prompts(serve, run):
    server = serve()
    argv = ("load_multi", server.url, "--chains", 2, "--tokens", 100, "--laps", 1)
    for seed in (1, 1, 2):
        assert run(*argv, "--seed", seed).exit == 0
    asked = [tuple(server.asked[n : n + 2]) for n in (0, 2, 4)]
    assert asked[0] == asked[1] != asked[2]
    heads = {prompt[:8] for pair in (asked[0], asked[2]) for prompt in pair}
    assert len(heads) == 4


def test_a_server_that_keeps_more_states_than_chunks_is_taken_at_its_word():
    found = Retention(100, 1, 2, server=Server(pool=250, states=4, chunk=4096))
    found.asked += [Asked(2, lap, chain, 100, 96 * (lap > 1), 0.1, 0.1) for lap in (1, 2) for chain in (1, 2)]
    found.asked += [Asked(3, lap, chain, 100, 0, 0.1, 0.1) for lap in (1, 2) for chain in (1, 2, 3)]
    assert found.best == 0.96
    assert found.verdict == "2 chains of 100 tokens stay (96%); 3 do not (0%): tokens: 3 × 100 = 300 of 250"


def test_checkpoints_are_named_beside_the_slots():
    server = Server(pool=1000, states=4, checkpoints=8, chunk=33)
    found = Retention(100, 1, 2, server=server)
    found.asked += [Asked(2, lap, chain, 100, 0, 0.1, 0.1) for lap in (1, 2) for chain in (1, 2)]
    assert found.best == 0.99
    assert found.bound(2) == "recurrent states: 4 slots and 8 int8 checkpoints; 2 × 100 = 200 tokens fit in 1,000"


def test_unfinished_laps_count_for_nothing():
    found = Retention(100, 1, 3, server=Server(pool=1000))
    found.asked += [Asked(2, lap, chain, 100, 90 * (lap > 1), 0.1, 0.1) for lap in (1, 2) for chain in (1, 2)]
    found.asked.append(Asked(2, 3, 1, 100, 0, 0.1, 0.1))
    assert found.share(2, 3) is None and found.kept(2) == 0.9
    assert found.verdict == "2 chains of 100 tokens stay (90%)"
    assert Retention(100, 1, 3).verdict == "no second lap was finished"


def test_the_verb_in_both_spellings(serve, run):
    from rebasekit import cli

    for verb in ("load_multi", "load-multi"):
        assert cli.find_verb([verb]) == "load-multi"
        result = run("-C", "load_multi", verb, serve().url, "--tokens", 50, "--chains", 1, "--laps", 1)
        assert result.exit == 0, result.err
        assert run(verb, "--help").out.startswith("usage: rebasekit load-multi")
    assert cli._spelled(["-C", "load_multi", "load_multi"], "load-multi") == ["-C", "load_multi", "load-multi"]
