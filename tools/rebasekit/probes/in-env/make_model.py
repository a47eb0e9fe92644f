"""Make a tiny hybrid model with real random weights: `python make_model.py FOLDER SEED`.

Three linear-attention layers and one of full attention, each with experts, so that a prefix needs both a KV cache and
recurrent states. Every byte is a token. Saved by transformers, as a real model would be. No expert is shared by all
tokens: its gate is a Triton kernel with a program for each token, three quarters of a prefill in Triton's interpreter.
"""

import json
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from transformers import PreTrainedTokenizerFast, Qwen3NextConfig, Qwen3NextForCausalLM

LAYERS = ["linear_attention"] * 3 + ["full_attention"]
TOKENS = 512
END = "<|end|>"


def configuration():
    return Qwen3NextConfig(
        vocab_size=TOKENS,
        hidden_size=128,
        intermediate_size=192,
        num_hidden_layers=len(LAYERS),
        layer_types=LAYERS,
        full_attention_interval=len(LAYERS),  # the same once more, as a server reads it
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=64,
        linear_num_key_heads=2,
        linear_num_value_heads=4,
        linear_key_head_dim=64,
        linear_value_head_dim=64,
        linear_conv_kernel_dim=4,
        num_experts=4,
        num_experts_per_tok=2,
        moe_intermediate_size=64,
        shared_expert_intermediate_size=0,
        max_position_embeddings=4096,
        partial_rotary_factor=0.25,
        tie_word_embeddings=False,
        bos_token_id=TOKENS - 1,
        eos_token_id=TOKENS - 1,
        dtype="float16",
    )


def randomise(model, seed):
    """Weights that keep the size of what passes through, and a head that tells tokens apart: a tie proves nothing."""
    source = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in sorted(model.named_parameters()):
            if weight.dim() < 2 or not weight.numel():
                continue  # norms, decays and biases keep the values that the model gives them
            fan_in = weight[0].numel()
            gain = 3.0 if name.startswith("lm_head") else 1.0
            weight.copy_(torch.randn(weight.shape, generator=source) * gain / fan_in**0.5)
            if "embed" in name:
                weight.mul_(fan_in**0.5)


def tokenizer(folder):
    """Bytes 0 to 255 are tokens 0 to 255 in the order of the byte-level alphabet; the rest are fillers."""
    words = {letter: number for number, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    words |= {f"<|{number}|>": number for number in range(len(words), TOKENS - 1)} | {END: TOKENS - 1}
    made = Tokenizer(BPE(vocab=words, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    template = "{% for message in messages %}{{ message['content'] }}\n{% endfor %}"
    fast = PreTrainedTokenizerFast(tokenizer_object=made, eos_token=END, pad_token=END, chat_template=template)
    fast.save_pretrained(folder)


def main(folder, seed):
    torch.manual_seed(seed)
    model = Qwen3NextForCausalLM(configuration()).float()
    randomise(model, seed)
    kept = {name: weight for name, weight in model.half().state_dict().items() if "shared_expert" not in name}
    model.save_pretrained(folder, state_dict=kept)  # a server does not know the weights of an expert that is not there
    tokenizer(folder)
    size = sum(path.stat().st_size for path in Path(folder).iterdir())
    print(json.dumps({"parameters": sum(p.numel() for p in model.parameters()), "bytes": size, "layers": LAYERS}))


main(sys.argv[1], int(sys.argv[2]))
