"""Fine-tuning a small GPT-2 on an instruction-like task: sort the digits after 'prompt'."""
import random
import torch
from transformers import GPT2Config, GPT2LMHeadModel, logging

logging.set_verbosity_error()
SEED = 0
random.seed(SEED)
torch.manual_seed(SEED)

# ids 0-9 digits, 10 = "->", 11 = <eos>
SEP, EOS = 10, 11
PAD = EOS
config = GPT2Config(vocab_size=12, n_positions=32, n_embd=64, n_layer=2, n_head=4, resid_pdrop=0.0,
                    embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=EOS, eos_token_id=EOS, pad_token_id=PAD)
model = GPT2LMHeadModel(config)


def example():
    digits = [random.randint(0, 9) for _ in range(random.randint(3, 7))]
    return digits + [SEP], sorted(digits) + [EOS]


def collate(examples):
    width = max(len(p) + len(a) for p, a in examples)
    ids = torch.full((len(examples), width), PAD)
    attn = torch.zeros_like(ids)
    labels = torch.full_like(ids, -100)
    for i, (p, a) in enumerate(examples):
        seq = torch.tensor(p + a)
        ids[i, :len(seq)] = seq
        attn[i, :len(seq)] = 1
        labels[i, len(p):len(seq)] = seq[len(p):]
    labels[ids == PAD] = -100
    return {"input_ids": ids, "attention_mask": attn, "labels": labels}


opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
sched = torch.optim.lr_scheduler.LinearLR(opt, 1.0, 0.05, total_iters=750)
model.train()
for step in range(750):
    out = model(**collate([example() for _ in range(48)]))
    out.loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    sched.step()
    opt.zero_grad()
    if step % 100 == 0:
        print(f"step {step:4d} loss {out.loss.item():.4f}")

model.eval()
exact, prefix = 0, 0
for _ in range(60):
    p, a = example()
    inp = torch.tensor([p])
    gen = model.generate(inp, attention_mask=torch.ones_like(inp), max_new_tokens=12, do_sample=False)[0, len(p):].tolist()
    if EOS in gen:
        gen = gen[:gen.index(EOS) + 1]
    exact += gen == a
    prefix += gen[:len(a) - 1] == a[:-1]
print(f"exact answers {exact}/60, right digits at the start {prefix}/60")
