"""Train a tiny GPT-2 from scratch on a synthetic protocol language and test next-token accuracy."""
import torch
from torch.utils.data import DataLoader
from transformers import GPT2Config, GPT2LMHeadModel, set_seed, get_linear_schedule_with_warmup

set_seed(5)
V, BLOCK = 40, 32
gen = torch.Generator().manual_seed(5)
table = torch.stack([torch.randperm(V, generator=gen)[:3] for _ in range(V)])


def stream(n):
    s = [0]
    for _ in range(n):
        j = int(torch.multinomial(torch.tensor([0.85, 0.1, 0.05]), 1, generator=gen))
        s.append(int(table[s[-1], j]))
    return torch.tensor(s)


def blocks(s):
    n = (len(s) - 1) // BLOCK
    return [{"input_ids": s[i * BLOCK:(i + 1) * BLOCK], "labels": s[i * BLOCK + 1:(i + 1) * BLOCK + 1]} for i in range(n)]


train_loader = DataLoader(blocks(stream(20000)), batch_size=16, shuffle=True)
test = blocks(stream(3000))

cfg = GPT2Config(vocab_size=V, n_positions=BLOCK, n_embd=48, n_layer=2, n_head=4,
                 resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=0)
model = GPT2LMHeadModel(cfg)
EPOCHS = 8
opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
sched = get_linear_schedule_with_warmup(opt, 20, EPOCHS * len(train_loader))
for ep in range(EPOCHS):
    tot = 0
    for batch in train_loader:
        out = model(input_ids=batch["input_ids"], labels=batch["labels"])
        opt.zero_grad()
        out.loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step(); sched.step()
        tot += out.loss.item()
    print(f"epoch {ep} train loss {tot / len(train_loader):.4f}")

model.eval()
ids = torch.stack([b["input_ids"] for b in test])
with torch.no_grad():
    pred = model(input_ids=ids).logits.argmax(-1)
print("next-token accuracy: %.4f" % (pred[:, :-1] == ids[:, 1:]).float().mean().item())
