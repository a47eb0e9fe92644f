"""Many answers of one `Reach`: what it keeps of one question changes nothing about the next."""

from __future__ import annotations

import random
from pathlib import Path
from textwrap import dedent

import pytest

from rebasekit.checks.reach import Reach
from rebasekit.checks.reach.occurrences import reads, uses
from rebasekit.facts.query import Facts, open_facts
from rebasekit.facts.settings import Settings
from rebasekit.facts.source import DirectoryTree

SOURCES = {
    "app/serve.py": """
        from app.work import Worker, choose, run

        if __name__ == "__main__":
            worker = Worker(kind=choose("a"))
            worker.go()
            run(choose)
        """,
    "app/pools.py": """
        from collections import defaultdict

        class Pool: ...
        class Paged(Pool):
            def __init__(self):
                super().__init__()
        class Slots:
            @classmethod
            def make(cls):
                return cls()
        class Lost: ...
        class Idle: ...
        class Early: ...
        class Late: ...

        def idle():
            return Idle()

        TABLE = {"a": Pool, "b": Paged}
        MAKERS = {"s": Slots.make, "d": lambda: Lost()}
        SPARE = defaultdict(Slots)
        """,
    "app/work.py": """
        from app.pools import MAKERS, SPARE, TABLE, Early, Late, Lost, Paged, Slots

        def choose(name):
            return TABLE.get(name, Paged)

        def run(chooser):
            kind = chooser("b")
            return kind()

        def replaced(kind):
            kind = Late
            return kind()

        def used(kind):
            return kind()

        def hand(given):
            used(given)
            return replaced(given)

        class Worker:
            def __init__(self, kind, spare=Slots):
                self.kind = kind
                self.spare = spare

            def go(self):
                held = self.kind
                held()
                self.spare()
                replaced(Early)
                hand(Late)
                print(Lost)
                return SPARE["x"], MAKERS["s"]()
        """,
}
NAMES = [
    "Pool",
    "Paged",
    "Slots",
    "Lost",
    "Idle",
    "Early",
    "Late",
    "choose",
    "run",
    "Worker",
    "Worker.go",
    "Slots.make",
    "idle",
]


@pytest.fixture
def facts(tmp_path: Path) -> Facts:
    for path, text in SOURCES.items():
        target = tmp_path / "tree" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(dedent(text), encoding="utf-8")
    return open_facts(tmp_path / "cache", DirectoryTree(tmp_path / "tree"), Settings(("app.serve",)))


def answer(reach: Reach, facts: Facts, name: str) -> dict[str, object]:
    [definition] = facts.named(name)
    return reach.of(definition).to_json()


def test_the_order_of_questions_does_not_matter(facts: Facts) -> None:
    alone = {name: answer(Reach(facts), facts, name) for name in NAMES}
    assert {name: found["verdict"] for name, found in alone.items() if found["verdict"] != "live"} == {
        "Idle": "builder-uncalled", "Early": "unconstructed", "idle": "uncalled",
    }  # fmt: skip
    for seed in range(10):
        together = Reach(facts)
        order = random.Random(seed).sample(NAMES, len(NAMES)) * 2
        for name in order:
            assert answer(together, facts, name) == alone[name], (name, order)


def test_files_that_were_let_go_give_the_same_answers(facts: Facts) -> None:
    reach = Reach(facts)
    before = {name: answer(reach, facts, name) for name in NAMES}
    for index in range(len(facts.program.paths)):
        facts.program.file(index).forget()
    assert {name: answer(Reach(facts), facts, name) for name in NAMES} == before


def test_uses_come_in_the_order_of_the_text(facts: Facts) -> None:
    [go] = facts.named("Worker.go")
    found = list(uses(facts.program, go, lambda leaf: leaf in ("held", "self.spare", "SPARE", ("r", "held"))))
    assert [(use.kind, use.place.line) for use in found] == [("called", 29), ("called", 30), ("returned", 34)]
    assert [use.kind for use in uses(facts.program, go, lambda leaf: leaf == "self.kind")] == ["assigned"]


def test_reads_are_found_by_their_parts(facts: Facts) -> None:
    [choose] = facts.named("choose")
    read = reads(facts.program, choose)
    assert read.last == {"get": ["TABLE.get"], "Paged": ["Paged"]}
    assert read.first == {"TABLE": ["TABLE.get"], "Paged": ["Paged"]}
    assert read.single == ["Paged"]
    assert read.held == {"get": ["TABLE.get"], "TABLE": ["TABLE"], "Paged": ["Paged"]}


WIDE = """
    from app.pools import Early, Late

    class Held:
        def __init__(self):
            self.kind = Early
            self.odd = Late

        def go(self):
            return self.kind()

    def one(x):
        return x.kind()

    def two(x):
        return x.kind(), x.odd()

    if __name__ == "__main__":
        Held().go(), one(open("x")), two(open("y"))
    """


@pytest.mark.parametrize(("most", "lines"), [(300, [10, 13, 16]), (3, [10])])
def test_a_name_that_many_read_says_nothing_of_an_unknown_object(
    facts: Facts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, lines: list[int]
) -> None:
    monkeypatch.setattr("rebasekit.checks.reach.flow._MOST_READERS", most)
    (tmp_path / "tree/app/wide.py").write_text(dedent(WIDE))
    settings = Settings(("app.wide",))
    wide = open_facts(tmp_path / "cache", DirectoryTree(tmp_path / "tree"), settings)
    sites = Reach(wide).classes.sites
    [early] = wide.named("pools.Early")
    found = sites.of(early)
    assert sorted({line for site in found.sites for _scope, line in site.calls}) == lines
    assert [what for _scope, _line, what in found.lost if what == ".kind"] == [".kind"] * (most == 3)
    [late] = wide.named("pools.Late")
    calls = [call for site in sites.of(late).sites for call in site.calls if wide.path(call[0]) == "app/wide.py"]
    assert [line for _scope, line in calls] == [16]  # few read that one
