"""Attention in float64 over what an int2 pool should hold, written from the format's description and nothing else of the pool's."""

from __future__ import annotations

from typing import Any

import torch
from sglang.srt.layers.attention.int2_kv import naive
from sglang.srt.layers.attention.int2_kv.rotation import hadamard
from small_engine import CONTEXT, DIM


def two_bits(x: torch.Tensor, group: int = 64, turn: torch.Tensor | None = None) -> torch.Tensor:
    """What is left of x[..., DIM] after rotation, 2 bits, and rotation back."""
    turn = hadamard(DIM).double() if turn is None else turn.double()
    codes, scale, zero = naive.quantize_head(x.double() @ turn, group)
    of_channel = torch.arange(DIM) // group
    return (zero[..., of_channel] + scale[..., of_channel] * codes) @ turn.T


class Reference:
    """Plays the same calls as an `Engine`, with `sink` and `window` tokens of a request exact and the others in two bits."""

    def __init__(self, sink: int, window: int) -> None:
        self.sink, self.window = sink, window
        self.seen: dict[int, Any] = {}

    def held(self, request: int, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
        k, v = (x[layer].double() for x in self.seen[request])
        length = k.shape[0]
        position = torch.arange(length)
        exact = (position < self.sink) | (position >= length - self.window)
        return tuple(torch.where(exact[:, None, None], x, two_bits(x)) for x in (k, v))

    def _keep(self, request: int, start: int, qkv: Any) -> None:
        if start == 0:
            self.seen[request] = (qkv[1][:, :0], qkv[2][:, :0])
        old = self.seen[request]
        assert old[0].shape[1] >= start
        self.seen[request] = tuple(torch.cat([o[:, :start], x], 1) for o, x in zip(old, qkv[1:], strict=True))

    def extend(self, chunks: list[tuple[int, int, Any]]) -> list[torch.Tensor]:
        layers = chunks[0][2][0].shape[0]
        outputs: list[list[torch.Tensor]] = [[] for _ in range(layers)]
        for request, start, qkv in chunks:
            if start:  # a prefix may be another request's
                self.seen[request] = tuple(x[:, :start] for x in self.seen[request])
            for layer in range(layers):
                q, k, v = (x[layer] for x in qkv)
                old = self.held(request, layer) if start else (k[:0], v[:0])
                both = (torch.cat([o.double(), x.double()]) for o, x in zip(old, (k, v), strict=True))
                outputs[layer].append(naive.attend(q, *both, DIM**-0.5, start)[0])
            self._keep(request, start, qkv)
        return [torch.cat(parts) for parts in outputs]

    def decode(self, steps: list[tuple[int, int, Any]]) -> list[torch.Tensor]:
        layers = steps[0][2][0].shape[0]
        outputs: list[list[torch.Tensor]] = [[] for _ in range(layers)]
        for request, start, qkv in steps:
            self._keep(request, start, qkv)
            for layer in range(layers):
                outputs[layer].append(naive.attend(qkv[0][layer], *self.held(request, layer), DIM**-0.5, CONTEXT)[0])
        return [torch.cat(parts) for parts in outputs]
