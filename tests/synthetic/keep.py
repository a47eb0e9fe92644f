"""A case as a folder of `tests/cases/`: releases, patchset, and every tree that may come out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path

from harness import series, write_tree

from rebasekit.model.hunk import Patch
from rebasekit.patches.editor import Editor
from rebasekit.steps.workspace import check_pattern
from synthetic.cases import NEW, OLD, Case
from synthetic.memory import Bytes
from synthetic.oracle import Judged, ways_of
from synthetic.render import rendered


def keep(case: Case, judged: Judged, folder: Path) -> None:
    """Write `vX/`, `patchset/`, `allowed/N/` (files unlike upstream's; none when a person has to be asked), `why`."""
    folder.mkdir(parents=True)
    write_tree(folder / OLD.name, case.old_bytes)
    write_tree(folder / NEW.name, case.new_bytes)
    (folder / "patchset").mkdir()
    (folder / "patchset/series.toml").write_text(series(OLD.name, patches=[]), encoding="utf-8")
    why = "Found by a made-up upstream, and made small."
    with Editor(folder, check=check_pattern) as editor:
        editor.add_patch(Patch("p", "a made-up change", why, "Never: it is a test.", hunks=tuple(case.hunks)))
        editor.commit()
    for number, tree in enumerate(allowed(case), 1):
        changed = {path: data for path, data in tree.items() if case.new_bytes.get(path) != data}
        write_tree(folder / "allowed" / str(number), changed)
    (folder / "why").write_text(f"upstream: {', '.join(case.done)}\n{judged.why}\n", encoding="utf-8")


def allowed(case: Case) -> Iterator[Bytes]:
    """Every tree that all our changes together may mean."""
    ways = [ways_of(case, number)[0] for number in range(len(case.ours))]
    for chosen in islice(product(*ways), 8):
        made = case.new.copy()
        for way in chosen:
            way(made)
        yield rendered(made)
