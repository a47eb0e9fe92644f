"""`conc`: clients at once, cards beside them, and the cliff."""

from __future__ import annotations

import asyncio
import itertools
import sys
import time
from types import ModuleType

import pytest

from rebasekit.probes.measure.cliff import cliffs, loaded
from rebasekit.probes.measure.gpu import Sample, watch

ARGUMENTS = ("--clients", 1, 3, "--requests", 2, "--tokens", 100, "--new", 6, "--json")


def library(monkeypatch, power, busy=99, missing=()):
    """A stand-in for NVIDIA's library: one card whose watts come from `power`, one after another."""
    fake = ModuleType("pynvml")
    looks = iter(power)

    class NVMLError(Exception):
        pass

    def figure(name, value):
        def read(*_):
            if name in missing:
                raise NVMLError("Not Supported")
            return value() if callable(value) else value

        return read

    class Memory:
        used, total = 3_000_000_000, 16_000_000_000

    class Rates:
        gpu = busy

    last = [power[-1]]

    def watts():
        last[0] = next(looks, last[0])
        return last[0] * 1000

    fake.NVMLError, fake.NVML_TEMPERATURE_GPU = NVMLError, 0
    fake.shut = 0
    fake.nvmlInit = figure("init", None)
    fake.nvmlShutdown = lambda: setattr(fake, "shut", fake.shut + 1)
    fake.nvmlDeviceGetCount = lambda: 1
    fake.nvmlDeviceGetHandleByIndex = lambda number: number
    fake.nvmlDeviceGetName = lambda handle: "A card"
    fake.nvmlDeviceGetEnforcedPowerLimit = figure("limit", 250_000)
    fake.nvmlDeviceGetMemoryInfo = figure("memory", Memory)
    fake.nvmlDeviceGetUtilizationRates = figure("utilisation", Rates)
    fake.nvmlDeviceGetPowerUsage = figure("power", watts)
    fake.nvmlDeviceGetTemperature = figure("temperature", 61)
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    return fake


def samples(rows, card=0):
    return [Sample(3.0 * n, 4, card, utilisation=busy, power=power) for n, (busy, power) in enumerate(rows)]


def test_without_the_library_it_says_so_and_measures_the_rest(serve, run, monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    result = run("conc", serve(per_new=0.01).url, *ARGUMENTS)
    assert result.exit == 0, result.err
    found = result.json
    assert "pip install 'rebasekit[gpu]'" in found["note"] and found["samples"] == []
    assert [(level["clients"], level["answers"], level["errors"]) for level in found["levels"]] == [
        (1, 2, 0),
        (3, 6, 0),
    ]
    assert all(level["cached"] < 0.03 for level in found["levels"])
    assert found["levels"][1]["written"] > 1.2 * found["levels"][0]["written"]  # they do run at once


def test_a_machine_without_cards(serve, run, monkeypatch):
    library(monkeypatch, [1], missing=("init",))
    result = run("conc", serve().url, *ARGUMENTS)
    assert result.exit == 0 and result.json["note"] == "no figures of cards: not supported"


def test_the_cards_of_this_machine_are_not_a_server_s_elsewhere(serve, run, monkeypatch):
    from rebasekit.probes.measure.server import Endpoint

    library(monkeypatch, [100])
    monkeypatch.setattr(Endpoint, "local", False)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    result = run("conc", serve().url, *ARGUMENTS)
    assert result.json["note"] == "no figures of cards: the server is on another machine"


def test_a_card_that_falls_off_is_named(serve, run, monkeypatch, tmp_path):
    fake = library(monkeypatch, [200] * 4 + [70] * 100)
    picture = tmp_path / "x.png"
    argv = ("--clients", 2, "--requests", 4, "--tokens", 50, "--new", 8, "--every", 0.2, "--plot", picture, "--json")
    result = run("conc", serve(per_new=0.05).url, *argv)
    (cliff,) = result.json["cliffs"]
    assert (cliff["card"], cliff["clients"], cliff["power"], cliff["loaded"]) == (0, 2, 70, 200)
    assert result.json["verdict"][0].startswith("card 0: a cliff from ")
    assert "utilisation 99 %, power 70 W, 35% of the 200 W under load" in result.json["verdict"][0]
    assert cliff["start"] == result.json["samples"][4]["seconds"]  # after four looks at 200 W
    assert fake.shut == 1 and picture.stat().st_size > 1000
    times = [each["seconds"] for each in result.json["samples"]]
    assert len(times) >= 6 and all(later - earlier > 0.1 for earlier, later in itertools.pairwise(times))
    assert {each["memory"] for each in result.json["samples"]} == {3_000_000_000}


def test_what_a_card_does_not_say_is_left_out(serve, run, monkeypatch):
    library(monkeypatch, [100], missing=("power", "temperature", "limit"))
    result = run("conc", serve(per_new=0.05).url, *ARGUMENTS[:-1], "--every", 0.1)
    assert result.exit == 0 and "99 %" in result.out and "°C" not in result.out
    assert "it has no loaded figure" in result.out


@pytest.mark.parametrize(("rows", "count"), [
    ([(99, 200)] * 5, 0),
    ([(99, 200)] * 3 + [(99, 70)] * 2, 1),
    ([(99, 200)] * 3 + [(99, 70)], 0),  # one look is chance
    ([(99, 200)] * 3 + [(99, 70), (99, 190), (99, 70)], 0),
    ([(99, 200)] * 3 + [(99, 70)] * 2 + [(99, 200)] * 2 + [(96, 70)] * 3, 2),
    ([(99, 200)] * 3 + [(20, 70)] * 5, 0),  # it is idle, and says so
    ([(99, 200)] * 3 + [(99, 121)] * 5, 0),  # above the fraction
    ([(99, 200)] * 3 + [(99, 120)] * 5, 1),
    ([(99, 200), (99, None), (99, 200)], 0),
])  # fmt: skip
def test_what_is_a_cliff(rows, count):
    taken = samples(rows) + samples([(99, 10)] * 5, card=1)
    assert len(cliffs(taken, 0, loaded(taken, 0))) == count


def test_the_loaded_figure_is_of_the_card_itself_and_of_busy_looks():
    taken = samples([(99, 210), (99, 210), (50, 400), (99, 210), (99, 190), (99, 200)]) + samples([(99, 900)] * 3, 1)
    assert loaded(taken, 0) == 200 and loaded(taken, 1) == 900 and loaded(taken[:2], 0) is None
    assert [each.loaded for each in cliffs(samples([(99, 50)] * 4), 0, 180.0)] == [180.0]  # as given with --loaded


def test_errors_are_counted_and_the_rest_goes_on(serve, run):
    result = run("conc", serve(fault="error-event", fails_from=4).url, *ARGUMENTS)
    assert result.exit == 4 or result.json["levels"][1]["errors"] > 0
    assert result.json["levels"][0]["errors"] == 0
    assert any("out of memory" in each["error"] for each in result.json["served"])


def test_a_level_without_any_answer_ends_the_run(serve, run):
    result = run("conc", serve(fault="500", fails_from=3).url, *ARGUMENTS)
    assert result.exit == 4 and "the scheduler is gone" in result.err and result.json["complete"] is False
    assert result.json["levels"][0]["answers"] == 2


def test_looks_keep_their_times_however_long_one_takes():
    class Slow:
        def look(self, seconds, clients):
            time.sleep(0.15)
            return [Sample(seconds, clients, 0)]

    async def watched():
        taken = []
        task = asyncio.create_task(watch(Slow(), 0.2, lambda: 3, taken.extend))
        await asyncio.sleep(2.1)
        task.cancel()
        return taken

    taken = asyncio.run(watched())
    assert 8 <= len(taken) <= 11 and taken[0].clients == 3
