"""Instruction-style training of a tiny GPT-2: loss only on the answer (prompt labels are -100)."""
import random
import torch
from transformers import GPT2Config, GPT2LMHeadModel, get_linear_schedule_with_warmup, set_seed

set_seed(1)
# task: reverse a short string of letters.  a..h -> 0..7, SEP=8, EOS=9, PAD=10
SEP, EOS, PAD = 8, 9, 10
LEN = 12


def example():
    k = random.randint(2, 5)
    s = [random.randrange(8) for _ in range(k)]
    ids = s + [SEP] + s[::-1] + [EOS]
    lab = [-100] * (k + 1) + s[::-1] + [EOS]
    att = [1] * len(ids) + [0] * (LEN - len(ids))
    return ids + [PAD] * (LEN - len(ids)), lab + [-100] * (LEN - len(lab)), att


def batch(n):
    i, l, a = zip(*[example() for _ in range(n)])
    return {"input_ids": torch.tensor(i), "labels": torch.tensor(l), "attention_mask": torch.tensor(a)}


config = GPT2Config(vocab_size=11, n_positions=LEN, n_embd=64, n_layer=2, n_head=4, bos_token_id=SEP, eos_token_id=EOS,
                    resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
model = GPT2LMHeadModel(config)
STEPS = 900
decay = [p for p in model.parameters() if p.ndim >= 2]
no_decay = [p for p in model.parameters() if p.ndim < 2]
opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": no_decay, "weight_decay": 0.0}], lr=3e-3, betas=(0.9, 0.95))
sched = get_linear_schedule_with_warmup(opt, 50, STEPS)

for step in range(STEPS):
    loss = model(**batch(32)).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    sched.step()
    opt.zero_grad()
    if step % 100 == 0:
        print(f"step {step} loss {loss.item():.4f} lr {sched.get_last_lr()[0]:.2e}")

model.eval()
b = batch(200)
with torch.no_grad():
    pred = model(input_ids=b["input_ids"], attention_mask=b["attention_mask"]).logits[:, :-1].argmax(-1)
lab = b["labels"][:, 1:]
ok = ((pred == lab) | (lab == -100)).all(1).float().mean()
print("whole answers right:", ok.item())
