"""Tiny GPT that learns routes through a bus network (next stop prediction)."""
import torch
import numpy as np
from transformers import GPT2Config, GPT2LMHeadModel, get_cosine_schedule_with_warmup

torch.manual_seed(2)
rng = np.random.default_rng(2)

STOPS, LINES, LEN = 40, 6, 24
BOS = STOPS + LINES
routes = [rng.permutation(STOPS)[:20] for _ in range(LINES)]     # each line is a ring of 20 stops


def trip():
    line = rng.integers(LINES)
    start = rng.integers(20)
    stops = [int(routes[line][(start + k) % 20]) for k in range(LEN - 2)]
    return [BOS, STOPS + int(line)] + stops


train_ids = torch.tensor([trip() for _ in range(3000)])
test_ids = torch.tensor([trip() for _ in range(200)])

config = GPT2Config(vocab_size=BOS + 1, n_positions=LEN + 8, n_embd=48, n_layer=2, n_head=4,
                    resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
                    bos_token_id=BOS, eos_token_id=BOS, pad_token_id=BOS)
model = GPT2LMHeadModel(config)
print("parameters:", model.num_parameters())

steps = 500
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
scheduler = get_cosine_schedule_with_warmup(optimizer, 50, steps)

model.train()
for step in range(steps):
    batch = train_ids[torch.randint(len(train_ids), (32,))]
    # the target of every position is the token that follows it
    out = model(input_ids=batch[:, :-1], labels=batch[:, 1:])
    out.loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    optimizer.zero_grad()
    if (step + 1) % 50 == 0:
        print(f"step {step + 1:4d}  loss {out.loss.item():.4f}  lr {scheduler.get_last_lr()[0]:.2e}")

# give the first six tokens of a trip and let the model drive on
model.eval()
prompt, truth = test_ids[:, :6], test_ids[:, 6:16]
with torch.no_grad():
    gen = model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=10, do_sample=False)[:, 6:]
print("example:", gen[0].tolist())
print("truth:  ", truth[0].tolist())
print("stops driven correctly: %.3f" % (gen == truth).float().mean().item())
