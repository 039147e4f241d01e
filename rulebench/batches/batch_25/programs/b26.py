"""Character-level LSTM, stateful truncated BPTT, tied embeddings, summed loss, step every 2 chunks."""
import math
import random
import torch
import torch.nn as nn

random.seed(1111)
torch.manual_seed(1111)

# --- corpus: sentences of a small grammar
NOUNS = "dog cat bird farmer child river engine poet".split()
VERBS = "sees follows likes paints hears moves".split()
ADJ = "old red quiet happy green".split()

def phrase():
    return "the " + (random.choice(ADJ) + " " if random.random() < 0.5 else "") + random.choice(NOUNS)

text = " ".join(f"{phrase()} {random.choice(VERBS)} {phrase()}." for _ in range(4000))
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
ids = torch.tensor([stoi[c] for c in text])
cut = int(0.9 * len(ids))
BATCH, CHUNK, ACCUM = 32, 25, 2

def batchify(seq):
    n = len(seq) // BATCH
    return seq[: n * BATCH].view(BATCH, n).t().contiguous()      # time first

train, valid = batchify(ids[:cut]), batchify(ids[cut:])


class CharLM(nn.Module):
    def __init__(self, v, d=64):
        super().__init__()
        self.emb = nn.Embedding(v, d)
        self.rnn = nn.LSTM(d, d)
        self.out = nn.Linear(d, v)
        self.out.weight = self.emb.weight
        nn.init.uniform_(self.emb.weight, -0.1, 0.1)

    def forward(self, x, state):
        h, state = self.rnn(self.emb(x), state)
        return self.out(h), state


model = CharLM(len(chars))
opt = torch.optim.Adam(model.parameters(), lr=4e-3)
ce_sum = nn.CrossEntropyLoss(reduction="sum")

def perplexity(data):
    model.eval()
    state, total, n = None, 0.0, 0
    with torch.no_grad():
        for i in range(0, len(data) - 1, CHUNK):
            x, y = data[i:i + CHUNK], data[i + 1:i + 1 + CHUNK]
            x = x[: len(y)]
            logits, state = model(x, state)
            total += ce_sum(logits.flatten(0, 1), y.flatten()).item()
            n += y.numel()
    return math.exp(total / n)

step = 0
for epoch in range(4):
    model.train()
    state = None
    opt.zero_grad()
    for j, i in enumerate(range(0, len(train) - 1 - CHUNK, CHUNK)):
        x, y = train[i:i + CHUNK], train[i + 1:i + 1 + CHUNK]
        if state is not None:
            state = tuple(s.detach() for s in state)
        logits, state = model(x, state)
        loss = ce_sum(logits.flatten(0, 1), y.flatten())
        loss.backward()
        if j % ACCUM == ACCUM - 1:
            norm = nn.utils.clip_grad_norm_(model.parameters(), 500.0)
            opt.step()
            opt.zero_grad()
            step += 1
            if step % 60 == 0:
                print(f"step {step} loss {loss.item():.1f} grad norm {norm:.1f}")
    print(f"epoch {epoch} valid perplexity {perplexity(valid):.3f}")
print("final valid perplexity", round(perplexity(valid), 3), "alphabet", len(chars))
