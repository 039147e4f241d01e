import logging
import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel
from peft import LoraConfig, get_peft_model

SEED = 6
torch.manual_seed(SEED)
rng = np.random.default_rng(SEED)
V, LEN = 32, 20


def corpus(step, n):
    """counting modulo 30, with a stride; 10% of the tokens are misprinted"""
    start = rng.integers(0, 30, (n, 1))
    s = (start + step * np.arange(LEN)) % 30 + 2
    bad = rng.random(s.shape) < 0.1
    s[bad] = rng.integers(2, V, bad.sum())
    s[:, 0] = 1
    return torch.tensor(s)


def next_token_accuracy(model, ids):
    model.eval()
    with torch.no_grad():
        out = model(input_ids=ids).logits[:, 1:-1].argmax(-1)
    return (out == ids[:, 2:]).float().mean().item()


def fit(model, ids, lr, steps, name):
    params = [p for p in model.parameters() if p.requires_grad]
    print(f"{name}: {sum(p.numel() for p in params)} of {sum(p.numel() for p in model.parameters())} weights are trained")
    opt = torch.optim.AdamW(params, lr=lr, weight_decay=0.0)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1, (s + 1) / 20) * (1 - s / steps))
    model.train()
    for s in range(steps):
        b = ids[torch.randint(len(ids), (32,))]
        loss = model(input_ids=b, labels=b).loss
        loss.backward()
        opt.step()
        sched.step()
        opt.zero_grad()
        if s % 60 == 0:
            print(f"  {name} {s:4d} loss {loss.item():.3f}")


base = GPT2LMHeadModel(GPT2Config(vocab_size=V, n_positions=LEN, n_embd=48, n_layer=2, n_head=4,
                                  bos_token_id=1, eos_token_id=0))
fit(base, corpus(1, 3000), 2e-3, 350, "pretraining")
old, new, new_test = corpus(1, 300), corpus(7, 800), corpus(7, 300)
print("stride 1 accuracy", next_token_accuracy(base, old))
print("stride 7 accuracy before", next_token_accuracy(base, new_test))

model = get_peft_model(base, LoraConfig(r=8, lora_alpha=16, target_modules=["c_attn", "c_fc", "c_proj"],
                                        fan_in_fan_out=True, task_type="CAUSAL_LM"))
fit(model, new, 1e-2, 350, "lora")
acc = next_token_accuracy(model, new_test)
with model.disable_adapter():
    print("stride 1 accuracy, adapter off", next_token_accuracy(model, old))
print("stride 7 accuracy with adapter: %.4f (0.90 is the ceiling)" % acc)
