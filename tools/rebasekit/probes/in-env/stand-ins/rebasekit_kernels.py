"""sgl_kernel without a GPU: the few operations that a hybrid gated-delta-net model needs, in plain torch.

Slow and exact enough to compare tokens with a reference; never used where there is a GPU. What is not here can be
imported, because modules import by name at their top, and raises by its name when it is called. Operations below
`torch.ops.sgl_kernel` that are not here do not exist, since their presence is asked for.

Shapes, in the words of the recurrence: H key heads, HV value heads (HV is a multiple of H), K and V their widths;
a state is [HV, V, K], one per slot of the pool. A negative slot is padding and is left alone.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import itertools
import sys
import types

NAME = "sgl_kernel"


def missing(name):
    def refuse(*args, **kwargs):
        raise NotImplementedError(f"`{name}` is not in the CPU stand-in for {NAME} (rebasekit smoke --device cpu)")

    refuse.__name__ = name.rpartition(".")[2]
    return refuse


def nothing_else(name, extra):
    given = sorted(key for key, value in extra.items() if value not in (None, False))
    if given:
        raise NotImplementedError(f"`{name}` is called with `{given[0]}`, which the CPU stand-in does not have")


def assign_req_to_token_pool_cpu(rows, table, start, end, values, width):
    """table[rows[i], start[i]:end[i]] = the next of `values`."""
    taken = 0
    for row, first, last in zip(rows.tolist(), start.tolist(), end.tolist(), strict=True):
        table[row, first:last] = values[taken : taken + last - first].to(table.dtype)
        taken += last - first


def assign_extend_cache_locs_cpu(rows, table, start, end, out, width):
    """The other way round: `out` gets table[rows[i], start[i]:end[i]], one after the other."""
    taken = 0
    for row, first, last in zip(rows.tolist(), start.tolist(), end.tolist(), strict=True):
        out[taken : taken + last - first] = table[row, first:last].to(out.dtype)
        taken += last - first


def convolve(window, weight, bias, activation):
    """A causal depthwise convolution: `window` [D, W - 1 + T] gives [D, T], in fp32."""
    import torch

    out = torch.nn.functional.conv1d(
        window.float()[None], weight.float()[:, None], None if bias is None else bias.float(), groups=weight.shape[0]
    )[0]
    return torch.nn.functional.silu(out) if activation in ("silu", "swish", True) else out


def causal_conv1d_fn_cpu(
    x, weight, bias=None, conv_states=None, query_start_loc=None, seq_lens_cpu=None, cache_indices=None,
    has_initial_state=None, activation="silu", pad_slot_id=-1, **extra,
):  # fmt: skip
    """Sequences side by side in x [D, total]; each slot's last W - 1 inputs are taken up and left behind."""
    import torch

    nothing_else("causal_conv1d_fn_cpu", extra)
    out, keep = torch.empty_like(x), weight.shape[1] - 1
    bounds = query_start_loc.tolist()
    for i, (first, last) in enumerate(itertools.pairwise(bounds)):
        slot = i if cache_indices is None else int(cache_indices[i])
        if slot == pad_slot_id or last == first:
            continue
        before = conv_states[slot][:, -keep:]
        if has_initial_state is None or not bool(has_initial_state[i]):
            before = torch.zeros_like(before)
        window = torch.cat([before.to(x.dtype), x[:, first:last]], dim=1)
        out[:, first:last] = convolve(window, weight, bias, activation).to(x.dtype)
        conv_states[slot][:, -keep:] = window[:, -keep:].to(conv_states.dtype)
    return out


def causal_conv1d_update_cpu(
    x, conv_state, weight, bias=None, activation=None, cache_seqlens=None, conv_state_indices=None, pad_slot_id=-1,
    **extra,
):  # fmt: skip
    """One more input per sequence: x [N, D]."""
    import torch

    nothing_else("causal_conv1d_update_cpu", extra | {"cache_seqlens": cache_seqlens})
    if x.dim() != 2:
        raise NotImplementedError("`causal_conv1d_update_cpu` takes one token per sequence in the CPU stand-in")
    out, keep = torch.empty_like(x), weight.shape[1] - 1
    for i in range(x.shape[0]):
        slot = i if conv_state_indices is None else int(conv_state_indices[i])
        if slot == pad_slot_id:
            continue
        window = torch.cat([conv_state[slot][:, -keep:].to(x.dtype), x[i, :, None]], dim=1)
        out[i] = convolve(window, weight, bias, activation)[:, 0].to(x.dtype)
        conv_state[slot][:, -keep:] = window[:, 1:].to(conv_state.dtype)
    return out


def gates(A_log, a, b, dt_bias, beta=1.0, threshold=20.0):
    """Log decay and write strength, in fp32."""
    import torch

    softplus = torch.nn.functional.softplus(a.float() + dt_bias.float(), beta=beta, threshold=threshold)
    return -A_log.float().exp() * softplus, b.float().sigmoid()


def fused_gdn_gating_cpu(A_log, a, b, dt_bias, beta=1.0, threshold=20.0):
    g, strength = gates(A_log, a, b, dt_bias, beta, threshold)
    return g[None], strength[None]


def recurrence(q, k, v, g, beta, state, scale, normalise):
    """The gated delta rule token by token: q, k [T, H, K], v [T, HV, V], g, beta [T, HV]; changes `state` in place."""
    import torch

    repeat = v.shape[1] // q.shape[1]
    q, k, v = q.float(), k.float(), v.float()
    if normalise:
        q = q * torch.rsqrt((q * q).sum(-1, keepdim=True) + 1e-6)
        k = k * torch.rsqrt((k * k).sum(-1, keepdim=True) + 1e-6)
    q = (q * scale).repeat_interleave(repeat, dim=1)
    k = k.repeat_interleave(repeat, dim=1)
    decay, out = g.float().exp(), torch.empty_like(v)
    for t in range(v.shape[0]):
        state *= decay[t][:, None, None]
        recalled = torch.einsum("hvk,hk->hv", state, k[t])
        state += torch.einsum("hv,hk->hvk", (v[t] - recalled) * beta[t][:, None].float(), k[t])
        out[t] = torch.einsum("hvk,hk->hv", state, q[t])
    return out


def over_sequences(q, k, v, g, beta, states, slots, bounds, scale, normalise):
    import torch

    out = torch.zeros_like(v)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    for i, (first, last) in enumerate(itertools.pairwise(bounds)):
        slot = i if slots is None else int(slots[i])
        if slot < 0 or last == first:
            continue
        state = states[slot].float().clone()
        part = slice(first, last)
        out[0, part] = recurrence(
            q[0, part], k[0, part], v[0, part], g[0, part], beta[0, part], state, scale, normalise
        ).to(v.dtype)
        states[slot] = state.to(states.dtype)
    return out


def chunk_gated_delta_rule_cpu(
    q, k, v, g, beta, scale=None, initial_state=None, initial_state_indices=None, cu_seqlens=None, head_first=False,
    use_qk_l2norm_in_kernel=False, **extra,
):  # fmt: skip
    """A prefill of several sequences side by side, q [1, total, H, K]; states are updated where they lie."""
    nothing_else("chunk_gated_delta_rule_cpu", extra | {"head_first": head_first})
    bounds = [0, q.shape[1]] if cu_seqlens is None else cu_seqlens.tolist()
    out = over_sequences(q, k, v, g, beta, initial_state, initial_state_indices, bounds, scale, use_qk_l2norm_in_kernel)
    return out, None, None


def fused_sigmoid_gating_delta_rule_update_cpu(
    A_log, dt_bias, q, k, v, a, b, initial_state_source, initial_state_indices, cu_seqlens,
    use_qk_l2norm_in_kernel=False, softplus_beta=1.0, softplus_threshold=20.0, scale=None, **extra,
):  # fmt: skip
    """One token per sequence, gates included."""
    nothing_else("fused_sigmoid_gating_delta_rule_update_cpu", extra)
    g, beta = gates(
        A_log, a.reshape(-1, v.shape[2]), b.reshape(-1, v.shape[2]), dt_bias, softplus_beta, softplus_threshold
    )
    return over_sequences(
        q, k, v, g[None], beta[None], initial_state_source, initial_state_indices, cu_seqlens.tolist(), scale,
        use_qk_l2norm_in_kernel,
    )  # fmt: skip


MODULE = {"": (assign_req_to_token_pool_cpu, assign_extend_cache_locs_cpu)}
MODULE["mamba"] = (causal_conv1d_fn_cpu, causal_conv1d_update_cpu, chunk_gated_delta_rule_cpu)
OPS = (fused_gdn_gating_cpu, fused_sigmoid_gating_delta_rule_update_cpu)


class Hollow(types.ModuleType):
    """A module of ours: what it lacks is a function that refuses by its name."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return missing(f"{self.__name__}.{name}")


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, note):
        self.note = note

    def find_spec(self, fullname, path=None, target=None):
        # Other submodules are not there: whoever imports one asks whether it is, and has another way.
        mine = fullname in {f"{NAME}.{inner}".rstrip(".") for inner in MODULE}
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True) if mine else None

    def create_module(self, spec):
        return Hollow(spec.name)

    def exec_module(self, module):
        inner = module.__name__.removeprefix(NAME).removeprefix(".")
        for function in MODULE.get(inner, ()):
            setattr(module, function.__name__, function)
        if not inner:
            module.__version__ = "0.0.0"
            self.note(NAME)
            import torch

            for function in OPS:
                setattr(torch.ops.sgl_kernel, function.__name__, function)


def install(note=lambda name: None):
    """Take the name, unless the real kernels are installed: those are never shadowed."""
    if importlib.util.find_spec(NAME) is not None:
        return False
    sys.meta_path.append(Finder(note))
    return True
