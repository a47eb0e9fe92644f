"""Train a tiny hybrid model for minutes, so that what a KV cache loses can be seen in perplexity and in retrieval.

    python serve/gpu/train.py FOLDER [--seconds 200] [--context 2048] [--device cuda] [--steps N]

The model is a Qwen3-Next of six gated-delta-net and two full-attention layers, one token per byte, written in plain
torch and saved with the names that transformers and SGLang read. Half of what it sees is Python's standard library,
half is the same with `# key QWER = 48213` lines strewn in and asked for again at the end. FOLDER gets the model, a
tokenizer, `held_out.bin` (library files that were never trained on), rotation files from captured Q, K and V, and
`training.json`.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import string
import sys
import sysconfig
import tempfile
import time
import zlib
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

HIDDEN, LAYERS, INTERVAL = 256, 8, 4
HEADS, KV_HEADS, HEAD, ROTARY = 8, 2, 128, 32
LINEAR_K_HEADS, LINEAR_V_HEADS, LINEAR_HEAD, CONV = 4, 8, 64, 4
EXPERTS, TOP, EXPERT, SHARED = 4, 2, 128, 256
TOKENS, END, THETA, EPS, CHUNK = 512, 511, 10000.0, 1e-6, 64
DIGITS = 5
SHARD_BYTES = 15 << 20


class Norm(nn.Module):
    """RMS norm whose weight is an offset from one."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(dim))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.float()
        y = y * torch.rsqrt(y.square().mean(-1, keepdim=True) + EPS) * (1.0 + self.weight)
        return y.to(x.dtype)


class GatedNorm(nn.Module):
    """RMS norm, then a gate."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
        y = x.float()
        y = self.weight * y * torch.rsqrt(y.square().mean(-1, keepdim=True) + EPS)
        return (y * F.silu(gate.float())).to(x.dtype)


def delta_rule(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
    """Gated delta rule of q, k, v [batch, length, heads, dim], g and beta [batch, length, heads], by chunks, in fp32.

    Within a chunk the rule is a unit lower triangular system, which is solved instead of unrolled.
    """
    q, k, v, g, beta = (x.float().transpose(1, 2) for x in (q, k, v, g, beta))
    q, k = (x * torch.rsqrt(x.square().sum(-1, keepdim=True) + EPS) for x in (q, k))
    length = q.shape[2]
    pad = -length % CHUNK
    q, k, v = (F.pad(x, (0, 0, 0, pad)).unflatten(2, (-1, CHUNK)) for x in (q * q.shape[-1] ** -0.5, k, v))
    g, beta = (F.pad(x, (0, pad)).unflatten(2, (-1, CHUNK)) for x in (g, beta))
    g = g.cumsum(-1)
    lower = torch.ones(CHUNK, CHUNK, dtype=torch.bool, device=q.device).tril()
    decay = (g[..., :, None] - g[..., None, :]).masked_fill(~lower, -math.inf).exp()
    k_beta = k * beta[..., None]
    inner = ((k_beta @ k.mT) * decay).tril(-1) + torch.eye(CHUNK, device=q.device)
    right = torch.cat([v * beta[..., None], k_beta * g.exp()[..., None]], -1)
    solved = torch.linalg.solve_triangular(inner, right, upper=False, unitriangular=True)
    value, carried = solved.split([v.shape[-1], k.shape[-1]], -1)
    score = (q @ k.mT) * decay
    q_in = q * g.exp()[..., None]
    k_out = k * (g[..., -1:] - g).exp()[..., None]
    last = g[..., -1].exp()[..., None, None]
    state = q.new_zeros(*q.shape[:2], k.shape[-1], v.shape[-1])
    out = []
    for i in range(q.shape[2]):
        new = value[:, :, i] - carried[:, :, i] @ state
        out.append(q_in[:, :, i] @ state + score[:, :, i] @ new)
        state = state * last[:, :, i] + k_out[:, :, i].mT @ new
    return torch.stack(out, 2).flatten(2, 3)[:, :, :length].transpose(1, 2)


class LinearAttention(nn.Module):
    """A gated delta net, projections laid out as transformers lays them."""

    def __init__(self) -> None:
        super().__init__()
        keys, values = LINEAR_K_HEADS * LINEAR_HEAD, LINEAR_V_HEADS * LINEAR_HEAD
        self.in_proj_qkvz = nn.Linear(HIDDEN, 2 * keys + 2 * values, bias=False)
        self.in_proj_ba = nn.Linear(HIDDEN, 2 * LINEAR_V_HEADS, bias=False)
        mixed = 2 * keys + values
        self.conv1d = nn.Conv1d(mixed, mixed, CONV, groups=mixed, padding=CONV - 1, bias=False)
        self.dt_bias = nn.Parameter(torch.ones(LINEAR_V_HEADS))
        self.A_log = nn.Parameter(torch.empty(LINEAR_V_HEADS).uniform_(0.02, 1.0).log())
        self.norm = GatedNorm(LINEAR_HEAD)
        self.out_proj = nn.Linear(values, HIDDEN, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        share = LINEAR_V_HEADS // LINEAR_K_HEADS
        qkvz = self.in_proj_qkvz(x).view(batch, length, LINEAR_K_HEADS, -1)
        q, k, v, z = qkvz.split([LINEAR_HEAD, LINEAR_HEAD, share * LINEAR_HEAD, share * LINEAR_HEAD], -1)
        b, a = self.in_proj_ba(x).view(batch, length, LINEAR_K_HEADS, -1).split([share, share], -1)
        mixed = torch.cat([part.flatten(2) for part in (q, k, v)], -1)
        mixed = F.silu(self.conv1d(mixed.mT)[..., :length]).mT
        q, k, v = mixed.split([part.shape[-2] * part.shape[-1] for part in (q, k, v)], -1)
        q, k, v = (part.unflatten(-1, (-1, LINEAR_HEAD)) for part in (q, k, v))
        q, k = (part.repeat_interleave(share, 2) for part in (q, k))
        g = -self.A_log.float().exp() * F.softplus(a.flatten(2).float() + self.dt_bias)
        out = delta_rule(q, k, v, g, b.flatten(2).float().sigmoid())
        out = self.norm(out.to(x.dtype), z.reshape(batch, length, -1, LINEAR_HEAD))
        return self.out_proj(out.flatten(2))


def rotary(x: torch.Tensor) -> torch.Tensor:
    """Rotate the first `ROTARY` channels of x[batch, heads, length, HEAD] by position."""
    speed = THETA ** (-torch.arange(0, ROTARY, 2, device=x.device).float() / ROTARY)
    angle = torch.arange(x.shape[2], device=x.device).float()[:, None] * speed
    cos, sin = (torch.cat([part, part], -1).to(x.dtype) for part in (angle.cos(), angle.sin()))
    turned, rest = x.split([ROTARY, HEAD - ROTARY], -1)
    half = torch.cat([-turned[..., ROTARY // 2 :], turned[..., : ROTARY // 2]], -1)
    return torch.cat([turned * cos + half * sin, rest], -1)


class Attention(nn.Module):
    """Full attention with a gate on its output."""

    def __init__(self) -> None:
        super().__init__()
        self.q_proj = nn.Linear(HIDDEN, 2 * HEADS * HEAD, bias=False)
        self.k_proj = nn.Linear(HIDDEN, KV_HEADS * HEAD, bias=False)
        self.v_proj = nn.Linear(HIDDEN, KV_HEADS * HEAD, bias=False)
        self.o_proj = nn.Linear(HEADS * HEAD, HIDDEN, bias=False)
        self.q_norm, self.k_norm = Norm(HEAD), Norm(HEAD)
        self.captured: list[tuple[torch.Tensor, ...]] | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, gate = self.q_proj(x).unflatten(-1, (HEADS, 2 * HEAD)).chunk(2, -1)
        k, v = (part(x).unflatten(-1, (KV_HEADS, HEAD)) for part in (self.k_proj, self.v_proj))
        q, k = rotary(self.q_norm(q).transpose(1, 2)), rotary(self.k_norm(k).transpose(1, 2))
        v = v.transpose(1, 2)
        if self.captured is not None:
            self.captured.append(tuple(part.transpose(1, 2).flatten(0, 1).float().cpu() for part in (q, k, v)))
        k, v = (part.repeat_interleave(HEADS // KV_HEADS, 1) for part in (k, v))
        out = F.scaled_dot_product_attention(q, k.to(q.dtype), v.to(q.dtype), is_causal=True).transpose(1, 2)
        return self.o_proj((out * gate.sigmoid()).flatten(2))


class Experts(nn.Module):
    """Two of four experts and a shared one; all are computed, since they are small."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(HIDDEN, EXPERTS, bias=False)
        self.expert_gate, self.expert_up = (nn.Linear(HIDDEN, EXPERTS * EXPERT, bias=False) for _ in range(2))
        self.expert_down = nn.Linear(EXPERTS * EXPERT, HIDDEN, bias=False)
        self.shared_gate, self.shared_up = (nn.Linear(HIDDEN, SHARED, bias=False) for _ in range(2))
        self.shared_down = nn.Linear(SHARED, HIDDEN, bias=False)
        self.shared_expert_gate = nn.Linear(HIDDEN, 1, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight = self.gate(x).float().softmax(-1)
        weight = weight * (weight >= weight.topk(TOP, -1).values[..., -1:])
        weight = (weight / weight.sum(-1, keepdim=True)).to(x.dtype)
        inner = (F.silu(self.expert_gate(x)) * self.expert_up(x)).unflatten(-1, (EXPERTS, EXPERT))
        routed = self.expert_down((inner * weight[..., None]).flatten(-2))
        shared = self.shared_down(F.silu(self.shared_gate(x)) * self.shared_up(x))
        return routed + self.shared_expert_gate(x).sigmoid() * shared


class Layer(nn.Module):
    """One layer, full attention or linear."""

    def __init__(self, full: bool) -> None:
        super().__init__()
        self.mixer = Attention() if full else LinearAttention()
        self.mlp = Experts()
        self.input_layernorm, self.post_attention_layernorm = Norm(HIDDEN), Norm(HIDDEN)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.mixer(self.input_layernorm(x))
        return x + self.mlp(self.post_attention_layernorm(x))


class Model(nn.Module):
    """Tokens int64[batch, length] to logits."""

    def __init__(self) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(TOKENS, HIDDEN)
        self.layers = nn.ModuleList(Layer((i + 1) % INTERVAL == 0) for i in range(LAYERS))
        self.norm = Norm(HIDDEN)
        self.lm_head = nn.Linear(HIDDEN, TOKENS, bias=False)
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                nn.init.normal_(weight, std=weight.shape[1] ** -0.5)
                if name.endswith(("out_proj.weight", "o_proj.weight", "down.weight")):
                    weight.data.mul_((2 * LAYERS) ** -0.5)
        nn.init.normal_(self.embed_tokens.weight, std=0.5)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed_tokens(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(self.norm(x))

    def full_attention(self) -> dict[int, Attention]:
        """Full-attention layers by number."""
        return {i: layer.mixer for i, layer in enumerate(self.layers) if isinstance(layer.mixer, Attention)}


def library() -> tuple[bytes, bytes]:
    """The standard library's sources: to train on, and every twentieth file (by checksum of its name) held out."""
    root = Path(sysconfig.get_paths()["stdlib"])
    parts: tuple[list[bytes], list[bytes]] = ([], [])
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root)
        if not {"site-packages", "dist-packages", "lib2to3"} & set(name.parts):
            text = path.read_bytes()
            if 500 < len(text) < 400_000:
                parts[zlib.crc32(name.as_posix().encode()) % 20 == 0].append(text)
    return b"\n".join(parts[0]), b"\n".join(parts[1])


def with_needles(
    text: bytes, length: int, needles: int, questions: int, source: random.Random
) -> tuple[bytes, list[int]]:
    """`length` bytes: text with `needles` key lines strewn in, then `questions` of the keys again.

    Also returns where the answers of the questions begin.
    """
    keys = ["".join(source.choices(string.ascii_uppercase, k=4)) for _ in range(needles)]
    lines = [f"# key {key} = {source.randrange(10 ** (DIGITS - 1), 10**DIGITS)}\n".encode() for key in keys]
    asked = [lines[i] for i in source.sample(range(needles), min(questions, needles))]
    room = length - sum(map(len, lines)) - sum(map(len, asked))
    start = source.randrange(len(text) - room - 1)
    body = text[start : start + room]
    ends = [i + 1 for i, byte in enumerate(body) if byte == 10][:-1] or [0]
    cuts = sorted(source.choice(ends) for _ in lines)
    pieces, last = [], 0
    for cut, line in zip(cuts, lines, strict=True):
        pieces += [body[last:cut], line]
        last = cut
    out = b"".join([*pieces, body[last:-1], b"\n"])
    answers = []
    for line in asked:
        answers.append(len(out) + len(line) - DIGITS - 1)
        out += line
    return out, answers


def batch_of(text: bytes, size: int, length: int, source: random.Random) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens [size, length + 1] and the weight of each target [size, length]: every other sequence has needles."""
    rows, weights = [], torch.ones(size, length)
    for row in range(size):
        if row % 2:
            start = source.randrange(len(text) - length - 2)
            rows.append(text[start : start + length + 1])
            continue
        needles = source.randint(2, max(2, length // 128))
        made, answers = with_needles(text, length + 1, needles, length // 128, source)
        rows.append(made)
        for answer in answers:
            weights[row, answer - 1 : answer - 1 + DIGITS] = 6.0
    tokens = torch.frombuffer(bytearray(b"".join(rows)), dtype=torch.uint8).view(size, length + 1).long()
    return tokens, weights


def evaluate(model: Model, held_out: bytes, length: int, device: str, samples: int = 32) -> dict[str, float]:
    """Perplexity per byte of held-out text and what share of the values asked for come out whole, at full precision."""
    source = random.Random(1)
    right = asked = 0
    loss = 0.0
    for _ in range(samples):
        made, answers = with_needles(held_out, length, max(2, length // 128), length // 128, source)
        start = source.randrange(len(held_out) - length - 2)
        pair = torch.tensor([list(made), list(held_out[start : start + length])], device=device)
        with torch.no_grad(), torch.autocast(device, dtype=torch.bfloat16):
            logits = model(pair).float()
        loss += F.cross_entropy(logits[1, :-1], pair[1, 1:]).item()
        guess = logits[0].argmax(-1)
        for answer in answers:
            right += torch.equal(guess[answer - 1 : answer - 1 + DIGITS], pair[0, answer : answer + DIGITS])
            asked += 1
    return {"perplexity": math.exp(loss / samples), "needles": right / asked}


def train(model: Model, text: bytes, held_out: bytes, options: argparse.Namespace) -> list[dict[str, float]]:
    """AdamW under a cosine that follows the clock; short sequences first, since retrieval is learned there sooner."""
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    optimiser = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}], betas=(0.9, 0.95),
        fused=options.device == "cuda",
    )  # fmt: skip
    source = random.Random(0)
    log: list[dict[str, float]] = []
    begin = time.monotonic()
    step, seen, shown = 0, 0, -1
    while True:
        done = (time.monotonic() - begin) / options.seconds if options.steps is None else step / options.steps
        if done >= 1:
            return log
        length = options.context // 4 if done < 0.4 else options.context
        tokens, weights = batch_of(text, max(2, options.tokens // length), length, source)
        tokens, weights = tokens.to(options.device), weights.to(options.device)
        for group in optimiser.param_groups:
            group["lr"] = options.rate * min(1.0, (step + 1) / 100) * (0.05 + 0.95 * math.cos(done * math.pi / 2) ** 2)
        with torch.autocast(options.device, dtype=torch.bfloat16):
            logits = model(tokens[:, :-1])
        losses = F.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten(), reduction="none")
        loss = (losses * weights.flatten()).sum() / weights.sum()
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        step, seen = step + 1, seen + tokens.numel()
        if int(done * 10) != shown:
            shown = int(done * 10)
            entry = {"step": step, "tokens": seen, "seconds": time.monotonic() - begin, "loss": loss.item()}
            entry |= evaluate(model, held_out, length, options.device, 4)
            log.append(entry)
            print({key: round(value, 4) for key, value in entry.items()}, flush=True)


def exported(model: Model) -> dict[str, torch.Tensor]:
    """Weights in fp16 under the names of transformers."""
    out: dict[str, torch.Tensor] = {}
    for name, weight in model.state_dict().items():
        weight = weight.half().cpu()
        if name.startswith("lm_head"):
            out[name] = weight
            continue
        name = "model." + name.replace("mlp.shared_gate.", "mlp.shared_expert.gate_proj.")
        name = name.replace("mlp.shared_up.", "mlp.shared_expert.up_proj.")
        name = name.replace("mlp.shared_down.", "mlp.shared_expert.down_proj.")
        if ".mixer." in name:
            layer = int(name.split(".")[2])
            name = name.replace("mixer", "self_attn" if (layer + 1) % INTERVAL == 0 else "linear_attn")
        if ".expert_" in name:
            kind = name.split(".expert_")[1].split(".")[0]
            for expert, part in enumerate(weight.chunk(EXPERTS, dim=1 if kind == "down" else 0)):
                out[f"{name.split('.expert_')[0]}.experts.{expert}.{kind}_proj.weight"] = part.contiguous()
        else:
            out[name] = weight.contiguous()
    return out


def configuration(context: int) -> dict[str, object]:
    """config.json."""
    kinds = ["full_attention" if (i + 1) % INTERVAL == 0 else "linear_attention" for i in range(LAYERS)]
    return {
        "architectures": ["Qwen3NextForCausalLM"], "model_type": "qwen3_next", "torch_dtype": "float16",
        "vocab_size": TOKENS, "hidden_size": HIDDEN, "intermediate_size": SHARED, "num_hidden_layers": LAYERS,
        "layer_types": kinds, "full_attention_interval": INTERVAL, "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS, "head_dim": HEAD, "partial_rotary_factor": ROTARY / HEAD,
        "rope_theta": THETA, "linear_num_key_heads": LINEAR_K_HEADS, "linear_num_value_heads": LINEAR_V_HEADS,
        "linear_key_head_dim": LINEAR_HEAD, "linear_value_head_dim": LINEAR_HEAD, "linear_conv_kernel_dim": CONV,
        "num_experts": EXPERTS, "num_experts_per_tok": TOP, "moe_intermediate_size": EXPERT,
        "shared_expert_intermediate_size": SHARED, "decoder_sparse_step": 1, "norm_topk_prob": True,
        "mlp_only_layers": [], "max_position_embeddings": 2 * context, "rms_norm_eps": EPS, "hidden_act": "silu",
        "attention_bias": False, "tie_word_embeddings": False, "bos_token_id": END, "eos_token_id": END,
    }  # fmt: skip


def save_tokenizer(folder: Path) -> None:
    """A tokenizer whose token for a byte is the byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    letter = {byte: chr(byte) for byte in plain} | {byte: chr(256 + i) for i, byte in enumerate(others)}
    words = {letter[byte]: byte for byte in range(256)} | {f"<|{i}|>": i for i in range(256, TOKENS - 1)}
    words["<|end|>"] = END
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    end = {"id": END, "content": "<|end|>", "single_word": False, "lstrip": False, "rstrip": False,
           "normalized": False, "special": True}  # fmt: skip
    whole = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [end], "normalizer": None,
        "pre_tokenizer": byte_level, "post_processor": None, "decoder": byte_level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "vocab": words, "merges": []},
    }  # fmt: skip
    (folder / "tokenizer.json").write_text(json.dumps(whole))
    (folder / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|end|>", "pad_token": "<|end|>",
        "chat_template": "{% for message in messages %}{{ message['content'] }}\n{% endfor %}",
    }))  # fmt: skip


def save(model: Model, folder: Path, context: int) -> None:
    """Weights in shards of at most 15 MB, configuration, tokenizer."""
    from safetensors.torch import save_file

    shards: list[dict[str, torch.Tensor]] = [{}]
    size = 0
    for name, weight in exported(model).items():
        if size + weight.nbytes > SHARD_BYTES:
            shards.append({})
            size = 0
        shards[-1][name] = weight
        size += weight.nbytes
    places = {}
    for number, shard in enumerate(shards, 1):
        file = f"model-{number:05}-of-{len(shards):05}.safetensors"
        save_file(shard, folder / file, metadata={"format": "pt"})
        places |= dict.fromkeys(shard, file)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": places}))
    (folder / "config.json").write_text(json.dumps(configuration(context), indent=1))
    (folder / "generation_config.json").write_text(json.dumps({"bos_token_id": END, "eos_token_id": END}))
    save_tokenizer(folder)


def save_rotations(model: Model, text: bytes, folder: Path, options: argparse.Namespace) -> None:
    """Rotation files from what the attention layers saw of training text."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "kernels"))
    from int2_kv.calibrate import calibrate

    source = random.Random(2)
    for attention in model.full_attention().values():
        attention.captured = []
    with torch.no_grad(), torch.autocast(options.device, dtype=torch.bfloat16):
        for _ in range(8):
            tokens, _ = batch_of(text, 2, options.context, source)
            model(tokens[:, :-1].to(options.device))
    with tempfile.TemporaryDirectory() as captures:
        for layer, attention in model.full_attention().items():
            parts = [torch.cat(part) for part in zip(*attention.captured or [], strict=True)]
            torch.save(dict(zip("qkv", parts, strict=True)), Path(captures) / f"{layer}.pt")
            attention.captured = None
        calibrate(Path(captures), folder / "k_rotation.pt", folder / "v_rotation.pt")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=200, help="how long to train")
    parser.add_argument("--steps", type=int, help="instead: how many steps")
    parser.add_argument("--context", type=int, default=2048)
    parser.add_argument("--tokens", type=int, default=65536, help="tokens of a step")
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    text, held_out = library()
    model = Model().to(options.device)
    log = train(model, text, held_out, options)
    options.folder.mkdir(parents=True, exist_ok=True)
    save(model, options.folder, options.context)
    (options.folder / "held_out.bin").write_bytes(held_out[: 1 << 19])
    save_rotations(model, text, options.folder, options)
    final = evaluate(model, held_out, options.context, options.device)
    sizes = {"parameters": sum(p.numel() for p in model.parameters()), "text": len(text), "held_out": len(held_out)}
    (options.folder / "training.json").write_text(json.dumps({"log": log, "final": final} | sizes, indent=1))
    print(final | sizes)


if __name__ == "__main__":
    main()
