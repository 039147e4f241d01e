import torch
import random
from transformers import GPT2Config, GPT2LMHeadModel

# tiny language model over a made-up grammar, characters as tokens
SEED = 17
random.seed(SEED)
torch.manual_seed(SEED)

SUBJ = ["the cat", "the dog", "a bird", "my friend", "the old man"]
VERB = ["sees", "likes", "follows", "hears"]
OBJ = ["the moon", "a red car", "the river", "some music", "an apple"]


def story(n):
    return " ".join(f"{random.choice(SUBJ)} {random.choice(VERB)} {random.choice(OBJ)}." for _ in range(n))


text = story(3000)
held = story(300)
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
enc = lambda s: torch.tensor([stoi[c] for c in s])
train_ids, test_ids = enc(text), enc(held)

cfg = GPT2Config(vocab_size=len(chars), n_positions=64, n_embd=64, n_layer=2, n_head=4,
                 resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=0)
model = GPT2LMHeadModel(cfg)
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
BLOCK, BS, STEPS = 48, 24, 500


def get_batch(ids):
    ix = torch.randint(0, len(ids) - BLOCK - 1, (BS,))
    chunk = torch.stack([ids[i:i + BLOCK + 1] for i in ix])
    inputs = chunk[:, :-1]
    labels = chunk[:, 1:]
    return inputs, labels


model.train()
for step in range(STEPS):
    x, y = get_batch(train_ids)
    out = model(input_ids=x, labels=y)
    opt.zero_grad()
    out.loss.backward()
    opt.step()
    if step % 50 == 0:
        print(f"step {step} loss {out.loss.item():.4f}")

model.eval()
with torch.no_grad():
    hit = tot = 0
    for i in range(0, len(test_ids) - BLOCK - 1, BLOCK):
        x = test_ids[i:i + BLOCK][None]
        pred = model(input_ids=x).logits[0].argmax(-1)
        hit += (pred == test_ids[i + 1:i + BLOCK + 1]).sum().item()
        tot += BLOCK
    ctx = enc("the cat ")[None]
    for _ in range(40):
        nxt = model(input_ids=ctx[:, -BLOCK:]).logits[0, -1].argmax()
        ctx = torch.cat([ctx, nxt.view(1, 1)], 1)
print("sample:", "".join(chars[i] for i in ctx[0].tolist()))
print(f"next-character accuracy on held-out text: {hit / tot:.3f}")
