"""Train a tiny randomly initialised GPT-2 on strings from a toy grammar."""
import random
import torch
from torch.utils.data import DataLoader
from transformers import GPT2Config, GPT2LMHeadModel, set_seed

set_seed(0)
SUBJ = "cat dog bird child robot".split()
VERB = "sees likes chases hears".split()
ADJ = "small red old quick".split()
words = ["<bos>", "<eos>", "the", "and", "."] + SUBJ + VERB + ADJ
tok = {w: i for i, w in enumerate(words)}


def np_():
    return ["the"] + ([random.choice(ADJ)] if random.random() < 0.5 else []) + [random.choice(SUBJ)]


def sentence():
    s = np_() + [random.choice(VERB)] + np_()
    while random.random() < 0.4:
        s += ["and"] + [random.choice(VERB)] + np_()
    return s + ["."]


BLOCK = 25
stream = []
while len(stream) < 40000:
    stream += ["<bos>"] + sentence() + ["<eos>"]
ids = torch.tensor([tok[w] for w in stream])
chunks = [ids[i:i + BLOCK] for i in range(0, len(ids) - BLOCK, BLOCK)]
train, heldout = chunks[:-100], chunks[-100:]


def collate(rows):
    rows = torch.stack(rows)
    return {"input_ids": rows[:, :-1].contiguous(), "labels": rows[:, 1:].contiguous()}


cfg = GPT2Config(vocab_size=len(tok), n_positions=32, n_embd=48, n_layer=2, n_head=4,
                 resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=1)
model = GPT2LMHeadModel(cfg)
optim = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.1)
loader = DataLoader(train, batch_size=24, shuffle=True, collate_fn=collate)

step = 0
for epoch in range(5):
    for batch in loader:
        loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optim.step()
        optim.zero_grad()
        if step % 40 == 0:
            print(f"step {step} loss {loss.item():.4f}")
        step += 1

model.eval()
with torch.no_grad():
    ev = model(**collate(heldout)).loss.item()
    out = model.generate(torch.tensor([[0]]), max_new_tokens=20, do_sample=True, top_k=5, pad_token_id=1)
print("heldout loss", round(ev, 4))
print("sample:", " ".join(words[i] for i in out[0]))
