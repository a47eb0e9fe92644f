"""The answer as lines of text: the verdict with its reason, then each site with its tests and the way to it.

Works on the JSON form, so that a kept answer is shown without loading what finds answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_MODULE = "<module>"
_LONGEST_TEST = 160
_MOST_CALLS = 6
_FIRST, _LAST = 3, 6  # steps of a long way that are shown


def lines(data: Mapping[str, Any]) -> Iterator[str]:
    """The whole answer."""
    yield f"{data['kind']} {data['name']} in {data['tag']}, {data['file']}:{data['line']}: {data['verdict']}"
    for reason in dict.fromkeys((*_reasons(data), *data["why"], *data.get("instead", ()))):
        yield f"  {reason}"
    for site in data["sites"]:
        yield from _site(data, site)


def _reasons(data: Mapping[str, Any]) -> Iterator[str]:
    """What the verdict says, where its own reasons do not."""
    found = (_of_class if data["kind"] == "class" else _of_function)(data)
    if found:
        yield found


def _of_class(data: Mapping[str, Any]) -> str:
    below = [_short(name) for name in data.get("subclasses", ())]
    verdict = data["verdict"]
    if verdict == "live" and not data["why"]:
        serving = [s for s in data["sites"] if s["liveness"] == "serving"]
        others = sum(data["name"] not in s.get("type", "").split(", ") for s in serving)
        return f"serving builds it in {_places(len(serving))}" + (f", in {others} as a subclass" if others else "")
    if verdict == "subclass-only":
        return f"never built as itself; serving builds {_listed(below)}"
    if verdict == "simulation-only":
        also = f"; serving builds its subclasses {_listed(below)}" if below else ""
        return "built as itself only in code whose name says that it simulates" + also
    if verdict == "unconstructed" and not data["why"]:
        return "nothing builds it"
    return ""


def _of_function(data: Mapping[str, Any]) -> str:
    if data["verdict"] == "live" and not data["why"]:
        return f"serving gets to it from {_places(sum(s['liveness'] == 'serving' for s in data['sites']))}"
    if data["verdict"] == "uncalled" and not data["why"]:
        return "nothing that runs calls it" if data["sites"] else "nothing calls it"
    if data["verdict"] == "simulation-only":
        return "called only from code whose name says that it simulates"
    return ""


def _site(data: Mapping[str, Any], site: Mapping[str, Any]) -> Iterator[str]:
    ruled = ", ruled out" if site.get("ruled_out") else ""
    types = [name for name in site.get("type", "").split(", ") if name not in ("", data["name"])]
    built = f", builds {_listed(list(map(_short, types)))}" if types else ""
    where = f"in {site['scope']}" if site["scope"] not in ("", _MODULE) else "at module level"
    yield f"{site['file']}:{site['line']}: {site['liveness']}{ruled}, {site['how']}, {where}{built}"
    for guard in site["guards"]:
        yield f"    if {guard if len(guard) <= _LONGEST_TEST else guard[: _LONGEST_TEST - 1] + '…'}"
    if site.get("note"):
        yield f"    {site['note']}"
    if calls := site.get("calls"):
        word = "built" if site["how"].startswith("super()") else "called"
        yield f"    {word} at {_listed([_spot(step, site) for step in calls], _MOST_CALLS)}"
    if chain := site.get("chain"):
        yield "    from " + " → ".join(_way(chain))


def _spot(step: Mapping[str, Any], site: Mapping[str, Any]) -> str:
    place = f"{step['file']}:{step['line']}" if step["file"] != site["file"] else f"line {step['line']}"
    return place if step["scope"] in (site["scope"], "", _MODULE) else f"{place} in {step['scope']}"


def _way(chain: Sequence[Mapping[str, Any]]) -> list[str]:
    """The steps from the entry point; modules by their file, what is long without its middle."""
    steps: list[str] = []
    for step in chain:
        name = step["scope"] if step["scope"] not in ("", _MODULE) else step["file"]
        if steps[-1:] != [name]:
            steps.append(name)
    if len(steps) > _FIRST + _LAST + 1:
        left_out = len(steps) - _FIRST - _LAST
        steps[_FIRST:-_LAST] = [f"… {left_out} steps …"]
    return steps


def _places(count: int) -> str:
    return "1 place" if count == 1 else f"{count} places"


def _listed(names: list[str], most: int = 8) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def _short(name: str) -> str:
    return name.rpartition(".")[2]
