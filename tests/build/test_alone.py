"""Two runs on one release: the second waits, since either may make the environment anew under the other."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest
from harness import series

from rebasekit.errors import StateError
from rebasekit.model.tag import Tag
from rebasekit.steps import build
from rebasekit.steps.build_proof import work_folder, working
from rebasekit.steps.smoke import smoke
from rebasekit.steps.smoke.prepare import Options
from rebasekit.steps.workspace import Workspace
from rebasekit.upstream.lock import held_if_free

TAG = Tag.parse("v1.0.0")


@pytest.fixture
def space(tmp_path):
    (tmp_path / "patchset").mkdir()
    (tmp_path / "patchset" / "series.toml").write_text(series(TAG.name, patches=[]))
    return Workspace(root=tmp_path, cache=tmp_path / "cache")


def test_the_second_waits_and_says_for_whom(space):
    notes, inside, done = [], threading.Event(), threading.Event()
    progress = SimpleNamespace(note=notes.append)

    def second():
        with working(space, TAG, "serves v1.0.0", progress):
            inside.set()
        done.set()

    with working(space, TAG, "builds v1.0.0"):
        thread = threading.Thread(target=second)
        thread.start()
        assert not inside.wait(2.5)
        assert len(notes) == 1 and "which builds v1.0.0" in notes[0]
    assert done.wait(10)
    thread.join()
    with working(space, Tag.parse("v1.1.0"), "builds v1.1.0"), working(space, TAG, "builds v1.0.0"):
        pass  # other releases are nobody's business


@pytest.mark.parametrize("run", [
    lambda space: build.build(space, TAG, space.root),
    lambda space: build.test_trees(space, TAG),
    lambda space: smoke.smoke(space, TAG, Options(), print),
], ids=["build", "trees", "smoke"])  # fmt: skip
def test_everything_that_uses_the_folder_has_it_to_itself(space, monkeypatch, run):
    seen = []

    def look(*_):
        with held_if_free(work_folder(space, TAG) / "work.lock") as free:
            seen.append(free)
        raise StateError("seen")

    for module, name in ((build, "prove"), (smoke, "read_plan")):
        monkeypatch.setattr(module, name, look)
    with pytest.raises(StateError, match="seen"):
        run(space)
    assert seen == [False]
