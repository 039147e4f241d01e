# Tiny GPT2 that should learn to count: given a start and a step, continue the sequence modulo 20
import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
MOD, LEN = 20, 12

def batch(n):
    start = torch.randint(0, MOD, (n, 1))
    step = torch.randint(1, 6, (n, 1))
    return (start + step * torch.arange(LEN + 1)) % MOD

config = GPT2Config(vocab_size=MOD, n_positions=32, n_embd=48, n_layer=2, n_head=4,
                    resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
                    bos_token_id=0, eos_token_id=0)
model = GPT2LMHeadModel(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

model.train()
for it in range(500):
    seq = batch(64)
    inputs, targets = seq[:, :-1], seq[:, 1:]
    out = model(input_ids=inputs, labels=targets)
    optimizer.zero_grad()
    out.loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if it % 50 == 0:
        print(it, round(out.loss.item(), 4))

model.eval()
test = batch(200)
ids = test[:, :4]
with torch.no_grad():
    for _ in range(6):
        nxt = model(input_ids=ids).logits[:, -1].argmax(-1, keepdim=True)
        ids = torch.cat([ids, nxt], dim=1)
print("continuation accuracy:", (ids[:, 4:] == test[:, 4:10]).float().mean().item())
print(test[0, :10].tolist(), "->", ids[0].tolist())
