"""Adapt a small character GPT to a new 'dialect' with LoRA (peft).

Stage 1 trains the base model on arithmetic-progression strings; stage 2 freezes it and learns
adapters for progressions that run with another alphabet order.
"""
import torch
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel, get_cosine_schedule_with_warmup

SEED = 4
torch.manual_seed(SEED)
torch.set_num_threads(1)
V, L = 26, 20
g = torch.Generator().manual_seed(SEED)
order = torch.randperm(V, generator=g)


def batch(n, dialect):
    start = torch.randint(0, V, (n, 1), generator=g)
    step = torch.randint(1, 5, (n, 1), generator=g)
    seq = (start + step * torch.arange(L)) % V
    return order[seq] if dialect else seq


def accuracy(m, dialect):
    m.eval()
    x = batch(512, dialect)
    with torch.no_grad():
        p = m(input_ids=x).logits[:, 2:-1].argmax(-1)
    return (p == x[:, 3:]).float().mean().item()


def fit(m, params, lr, steps, dialect, tag):
    opt = torch.optim.AdamW(params, lr=lr, weight_decay=0.0)
    sch = get_cosine_schedule_with_warmup(opt, 30, steps)
    m.train()
    for i in range(steps):
        x = batch(32, dialect)
        loss = m(input_ids=x, labels=x).loss
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(params, 1.0)
        opt.step()
        sch.step()
        if i % 50 == 0:
            print(f"{tag} step {i:4d} loss {loss.item():.3f}")


cfg = GPT2Config(vocab_size=V, n_positions=L, n_embd=64, n_layer=2, n_head=4,
                 bos_token_id=0, eos_token_id=0)
base = GPT2LMHeadModel(cfg)
fit(base, list(base.parameters()), 3e-3, 200, False, "pretrain")
print("base on base dialect: %.3f, on new dialect: %.3f" % (accuracy(base, False), accuracy(base, True)))

lora = LoraConfig(r=8, lora_alpha=32, target_modules=["c_attn", "c_proj", "c_fc"], fan_in_fan_out=True,
                  lora_dropout=0.0, task_type="CAUSAL_LM")
model = get_peft_model(base, lora)
model.print_trainable_parameters()
fit(model, [p for p in model.parameters() if p.requires_grad], 5e-3, 300, True, "adapt")

print("adapted model on the new dialect: %.4f" % accuracy(model, True))
with model.disable_adapter():
    print("with the adapter switched off, on the old dialect: %.4f" % accuracy(model, False))
