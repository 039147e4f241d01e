# tiny GPT-2 from scratch on toy sentences (character level)
import random
import torch
from transformers import GPT2Config, GPT2LMHeadModel

random.seed(0)
torch.manual_seed(0)
subj = ["anna", "the dog", "a robot", "my uncle", "the queen"]
verb = ["eats", "paints", "breaks", "finds", "wants"]
obj = ["bread", "a house", "seven stars", "the piano", "old maps"]
adv = ["slowly", "today", "in june", "again", "with joy"]


def sentence():
    return f"{random.choice(subj)} {random.choice(verb)} {random.choice(obj)} {random.choice(adv)}. "


text = "".join(sentence() for _ in range(1500))
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])
split = int(0.9 * len(data))
train, val = data[:split], data[split:]
block = 48

config = GPT2Config(vocab_size=len(chars) + 1, n_positions=64, n_embd=64, n_layer=2, n_head=4,
                    resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=len(chars), eos_token_id=len(chars))
model = GPT2LMHeadModel(config)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)


def get_batch(src, bs=16):
    ix = torch.randint(0, len(src) - block - 1, (bs,))
    x = torch.stack([src[i:i + block] for i in ix])
    y = torch.stack([src[i + 1:i + block + 1] for i in ix])
    return x, y


for step in range(600):
    x, y = get_batch(train)
    loss = model(input_ids=x, labels=y).loss
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(step, round(loss.item(), 4))

model.eval()
with torch.no_grad():
    x, y = get_batch(val, 64)
    acc = (model(input_ids=x).logits.argmax(-1) == y).float()[:, 8:].mean().item()
    seed = torch.tensor([[stoi[c] for c in "the dog "]])
    gen = model.generate(seed, max_new_tokens=40, do_sample=False, attention_mask=torch.ones_like(seed), pad_token_id=len(chars))
print("next char accuracy", round(acc, 3))
print("sample:", "".join(chars[i] for i in gen[0] if i < len(chars)))
