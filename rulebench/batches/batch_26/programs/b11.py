"""Train a very small GPT-2 from scratch on sentences of a toy grammar."""
import random

import torch
from torch.utils.data import DataLoader, Dataset
from transformers import GPT2Config, GPT2LMHeadModel, get_linear_schedule_with_warmup, set_seed

set_seed(5)
torch.set_num_threads(1)

SUBJ = ["the cat", "the dog", "a child", "my neighbour", "the old king"]
VERB = {"the cat": ["chases", "licks"], "the dog": ["barks at", "follows"], "a child": ["draws", "hugs"],
        "my neighbour": ["sells", "paints"], "the old king": ["remembers", "banishes"]}
OBJ = ["the red house", "a small boat", "her friend", "the blue bird", "every flower", "the moon"]
TAIL = ["in the morning .", "at night .", "without a word .", "because of the rain ."]


def sentence(rnd):
    s = rnd.choice(SUBJ)
    return f"{s} {rnd.choice(VERB[s])} {rnd.choice(OBJ)} {rnd.choice(TAIL)}"


class Chars:
    def __init__(self, texts):
        self.itos = ["<bos>"] + sorted(set("".join(texts)))
        self.stoi = {c: i for i, c in enumerate(self.itos)}

    def encode(self, t):
        return [0] + [self.stoi[c] for c in t]

    def decode(self, ids):
        return "".join(self.itos[i] for i in ids if i)


class LMDataset(Dataset):
    def __init__(self, stream, block):
        self.stream, self.block = stream, block

    def __len__(self):
        return (len(self.stream) - 1) // self.block

    def __getitem__(self, i):
        a = i * self.block
        chunk = self.stream[a:a + self.block + 1]
        return {"input_ids": chunk[:-1], "labels": chunk[1:]}


rnd = random.Random(5)
corpus = [sentence(rnd) for _ in range(900)]
heldout = [sentence(rnd) for _ in range(60)]
tok = Chars(corpus)
stream = torch.tensor([t for s in corpus for t in tok.encode(s)])
data = LMDataset(stream, 48)
loader = DataLoader(data, batch_size=32, shuffle=True)

config = GPT2Config(vocab_size=len(tok.itos), n_positions=64, n_embd=48, n_layer=2, n_head=4,
                    bos_token_id=0, eos_token_id=0, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
model = GPT2LMHeadModel(config)
EPOCHS = 12
optim = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
sched = get_linear_schedule_with_warmup(optim, 30, EPOCHS * len(loader))

model.train()
for epoch in range(EPOCHS):
    total = 0.0
    for batch in loader:
        out = model(**batch)
        out.loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optim.step()
        sched.step()
        optim.zero_grad()
        total += out.loss.item()
    if epoch % 2 == 1:
        print(f"epoch {epoch + 1:2d}  loss {total / len(loader):.3f}")

model.eval()
nll, n, hit = 0.0, 0, 0
with torch.no_grad():
    for s in heldout:
        ids = torch.tensor([tok.encode(s)])
        lp = model(ids).logits[0, :-1].log_softmax(-1)
        tgt = ids[0, 1:]
        nll -= lp.gather(1, tgt[:, None]).sum().item()
        hit += (lp.argmax(-1) == tgt).sum().item()
        n += len(tgt)
sample = model.generate(torch.tensor([[0]]), max_new_tokens=40, do_sample=False, pad_token_id=0, eos_token_id=None)
print("greedy sample:", tok.decode(sample[0].tolist()))
print(f"held-out: nats per character {nll / n:.3f}, next character accuracy {hit / n:.3f}")
