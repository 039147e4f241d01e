"""Train a very small GPT-2 from scratch on simple melodies (transformers, no Trainer)."""
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset
from transformers import GPT2Config, GPT2LMHeadModel, get_linear_schedule_with_warmup, set_seed
from transformers.utils import logging

logging.set_verbosity_error()
set_seed(17)

# hand made tokenizer: 12 "notes" and the special tokens
NOTES = "C C# D D# E F F# G G# A A# B".split()
VOCAB = ["<pad>", "<bos>", "<eos>"] + NOTES
TOK = {t: i for i, t in enumerate(VOCAB)}
encode = lambda notes: [TOK["<bos>"]] + [TOK[c] for c in notes] + [TOK["<eos>"]]
BLOCK = 26
RULES = np.random.default_rng(4).integers(0, 12, (12, 12))


def melody(rng):
    # the next note follows from the two before it, now and then the player improvises
    m = list(rng.integers(0, 12, 2))
    for _ in range(rng.integers(10, 22)):
        m.append(RULES[m[-2], m[-1]] if rng.random() > 0.15 else rng.integers(0, 12))
    return [NOTES[i] for i in m]


class Melodies(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.texts = [melody(rng) for _ in range(n)]

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, i):
        ids = encode(self.texts[i])
        n = len(ids)
        ids = ids + [TOK["<pad>"]] * (BLOCK + 1 - n)
        attn = [1] * n + [0] * (BLOCK + 1 - n)
        ids, attn = torch.tensor(ids), torch.tensor(attn)
        targets = ids.masked_fill(attn == 0, -100)
        return {"input_ids": ids[:-1], "attention_mask": attn[:-1], "labels": targets[1:]}


config = GPT2Config(vocab_size=len(VOCAB), n_positions=BLOCK, n_embd=48, n_layer=2, n_head=4,
                    resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
                    bos_token_id=TOK["<bos>"], eos_token_id=TOK["<eos>"])
model = GPT2LMHeadModel(config)
loader = DataLoader(Melodies(3000, 0), batch_size=64, shuffle=True)
EPOCHS = 10
opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
sched = get_linear_schedule_with_warmup(opt, 50, EPOCHS * len(loader))

model.train()
for epoch in range(EPOCHS):
    tot = 0.0
    for batch in loader:
        loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        opt.zero_grad()
        tot += loss.item()
    print(f"epoch {epoch}: loss {tot / len(loader):.4f} lr {sched.get_last_lr()[0]:.2e}")

# continue unseen melodies by one note, at every position from the third on
model.eval()
hit = total = 0
with torch.no_grad():
    for notes in Melodies(200, 999).texts:
        ids = torch.tensor([encode(notes)[:-1]])
        guess = model(ids).logits[0].argmax(-1)
        hit += (guess[2:-1] == ids[0, 3:]).sum().item()
        total += len(notes) - 2
print("next-note accuracy on unseen melodies: %.3f" % (hit / total))
