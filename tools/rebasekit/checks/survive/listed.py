"""Uses that a hunk names by hand."""

from __future__ import annotations

from collections.abc import Iterator

from rebasekit.checks.survive.api import Api, Found
from rebasekit.checks.survive.judge import GONE, SIGNATURE, Judge, Trouble
from rebasekit.checks.survive.meaning import Meaning
from rebasekit.checks.survive.overrides import misfits
from rebasekit.checks.survive.signature import Signature


def listed(judge: Judge, dotted: str) -> Iterator[Trouble]:
    """A use that the hunk names by hand: nothing is known of the call, so the whole signature has to hold."""
    old, new = judge.old, judge.new
    api = old.parse_dotted(dotted) or new.parse_dotted(dotted)
    was = old.find(api) if api is not None else None
    if api is None or was is None:
        text = f"`uses` names `{dotted}`, which is not there on the tag of the pin either"
        yield Trouble(GONE, dotted, text)
        return
    found, trouble = judge.existence(Meaning(api, was), None)
    if trouble is not None:
        yield trouble
    elif found is not None:
        yield from judge.changes(Meaning(api, was), found, None, was.kind == "method")
        yield from _call(judge, api, was, found)


def _call(judge: Judge, api: Api, was: Found, found: Found) -> Iterator[Trouble]:
    before, after = judge.old.signatures(was), judge.new.signatures(found)
    if len(before) != 1 or len(after) != 1:
        return
    texts = [*_lost(before[0], after[0])]
    if texts:
        yield Trouble(SIGNATURE, api.dotted, f"`{api.short}` changed in {judge.tag}: {'; '.join(texts)}")


def _lost(before: Signature, after: Signature) -> Iterator[str]:
    """Calls that the old signature took and the new one does not."""
    for text in misfits(after, before):
        yield (
            text.replace("it has `", "it had `")
            .replace("which ours does not take", "which is gone")
            .replace("it has no `", "it gained `")
            .replace("which ours requires", "which is required")
        )
    names = [part.name for part in before.positional]
    kept = [part.name for part in after.positional if part.name in names]
    if kept != [name for name in names if name in kept]:
        yield "its parameters are in another order"
