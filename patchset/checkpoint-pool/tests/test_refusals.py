"""Server arguments: what is refused with the int8 pool, and the new flag."""

from __future__ import annotations

import argparse

import pytest
import tree

tree.require()

from sglang.srt.arg_groups.mamba_hook import handle_int8_mamba_checkpoint
from sglang.srt.runtime_context import get_exec
from sglang.srt.server_args import ServerArgs
from small_cache import publish


@pytest.mark.differs
def test_mixed_chunk_is_refused_with_the_int8_pool() -> None:
    with pytest.raises(ValueError, match=r"--enable-int8-mamba-checkpoint .* --enable-mixed-chunk"):
        handle_int8_mamba_checkpoint(publish(enable_int8_mamba_checkpoint=True, enable_mixed_chunk=True))


@pytest.mark.parametrize("flags", [{"enable_int8_mamba_checkpoint": True}, {"enable_mixed_chunk": True}, {}], ids=str)
def test_either_flag_alone_is_fine(flags: dict[str, bool]) -> None:
    handle_int8_mamba_checkpoint(publish(**flags))


def test_the_other_refusals_still_speak() -> None:
    with pytest.raises(ValueError, match="--enable-hierarchical-cache"):
        handle_int8_mamba_checkpoint(publish(enable_int8_mamba_checkpoint=True, enable_hierarchical_cache=True))


@pytest.mark.differs
@pytest.mark.parametrize("given", [[], ["--mamba-checkpoint-thinning"]], ids=["default", "given"])
def test_the_flag_reaches_the_namespace(given: list[str]) -> None:
    parser = argparse.ArgumentParser(exit_on_error=False)
    ServerArgs.add_cli_args(parser)
    parsed, unknown = parser.parse_known_args(["--model-path", "dummy", *given])
    assert unknown == []
    assert getattr(parsed, "mamba_checkpoint_thinning", None) is bool(given)
    publish(thinning=bool(given))
    assert get_exec().mamba.mamba_checkpoint_thinning is bool(given)
