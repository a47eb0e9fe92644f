"""Greedy tokens by Hugging Face transformers: `python reference.py MODEL REQUESTS.json`.

REQUESTS.json is `[{"tokens": […], "new": 8}, …]`. Prints one JSON list: the tokens, and how far each was ahead of
the next best (in logits of a run in fp32), so that a difference can be told from a tie; and the log-probability (in
nats) of each token of the prompt after those before it, so that an approximation can be measured.
"""

import json
import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM


def answer(model, tokens, new):
    with torch.no_grad():
        out = model.generate(
            torch.tensor([tokens]),
            attention_mask=torch.ones(1, len(tokens), dtype=torch.long),
            max_new_tokens=new,
            do_sample=False,
            eos_token_id=None,
            pad_token_id=0,
            return_dict_in_generate=True,
            output_logits=True,
        )
    margins = []
    for logits in out.logits:
        best = logits[0].float().topk(2).values
        margins.append(round(float(best[0] - best[1]), 4))
    with torch.no_grad():
        scores = model(torch.tensor([tokens])).logits[0, :-1].float().log_softmax(-1)
    scores = scores.gather(1, torch.tensor(tokens[1:])[:, None])[:, 0]
    return {
        "tokens": out.sequences[0, len(tokens) :].tolist(),
        "margins": margins,
        "scores": [round(float(score), 5) for score in scores],
    }


def main(path, requests):
    torch.set_num_threads(2)
    model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()
    model.generation_config.eos_token_id = None
    asked = json.loads(Path(requests).read_text())
    print(json.dumps([answer(model, each["tokens"], each["new"]) for each in asked]))


main(sys.argv[1], sys.argv[2])
