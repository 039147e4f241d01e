import torch
from torch.utils.data import Dataset, DataLoader
from transformers import GPT2Config, GPT2LMHeadModel, get_linear_schedule_with_warmup, set_seed

set_seed(42)
VOCAB = ["<bos>"] + [f"n{i}" for i in range(23)]
BOS = 0
LENGTH = 14


class CountingDataset(Dataset):
    """<bos> a, a+d, a+2d, ...  modulo 23; the model has to find the stride d"""

    def __init__(self, pairs):
        self.rows = []
        for a, d in pairs:
            toks = [BOS] + [1 + (a + d * k) % 23 for k in range(LENGTH)]
            self.rows.append(torch.tensor(toks))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        ids = self.rows[i]
        # a language model predicts the next token
        return {"input_ids": ids[:-1], "labels": ids[1:]}


pairs = [(a, d) for a in range(23) for d in range(1, 12)]
perm = torch.randperm(len(pairs)).tolist()
train_pairs = [pairs[i] for i in perm[:200]]
test_pairs = [pairs[i] for i in perm[200:]]

config = GPT2Config(vocab_size=len(VOCAB), n_positions=32, n_embd=64, n_layer=2, n_head=4,
                    resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=BOS, eos_token_id=BOS)
model = GPT2LMHeadModel(config)
loader = DataLoader(CountingDataset(train_pairs), batch_size=40, shuffle=True)
EPOCHS = 120
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
scheduler = get_linear_schedule_with_warmup(optimizer, 40, EPOCHS * len(loader))

model.train()
for epoch in range(EPOCHS):
    for batch in loader:
        out = model(input_ids=batch["input_ids"], labels=batch["labels"])
        out.loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
    if (epoch + 1) % 20 == 0:
        print(f"epoch {epoch + 1}: train loss {out.loss.item():.3f}")

model.eval()
hits = total = 0
for a, d in test_pairs:
    seq = [BOS] + [1 + (a + d * k) % 23 for k in range(5)]
    gen = model.generate(torch.tensor([seq]), attention_mask=torch.ones(1, len(seq), dtype=torch.long),
                         max_new_tokens=6, do_sample=False, pad_token_id=BOS)[0, len(seq):].tolist()
    want = [1 + (a + d * k) % 23 for k in range(5, 11)]
    gen = gen + [-1] * (6 - len(gen))
    hits += sum(g == w for g, w in zip(gen, want))
    total += 6
print(f"continuation accuracy on unseen (start, stride) pairs: {hits / total:.3f}")
