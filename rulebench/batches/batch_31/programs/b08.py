"""Train a tiny GPT-2 from scratch on a synthetic 'grammar' and measure next-token accuracy."""
import numpy as np
import torch
from torch.utils.data import Dataset, DataLoader
from transformers import GPT2Config, GPT2LMHeadModel

SEED = 0
torch.manual_seed(SEED)
np.random.seed(SEED)
torch.set_num_threads(1)

V, L = 40, 33
# second-order process: next = f(prev2, prev1) with 10% noise
table = np.random.randint(0, V, size=(V,))


def make_text(n):
    out = [np.random.randint(V), np.random.randint(V)]
    while len(out) < n:
        nxt = (table[out[-1]] + 3 * (out[-2] % 2)) % V
        out.append(int(np.random.randint(V)) if np.random.rand() < 0.1 else int(nxt))
    return np.array(out)


class BlockDataset(Dataset):
    """Cuts the corpus into blocks, each giving an input and what should be predicted from it."""

    def __init__(self, text):
        self.blocks = [text[i:i + L] for i in range(0, len(text) - L, L)]

    def __len__(self):
        return len(self.blocks)

    def __getitem__(self, i):
        b = torch.as_tensor(self.blocks[i]).long()
        return {"input_ids": b[:-1], "labels": b[1:]}


train = BlockDataset(make_text(50000))
held = BlockDataset(make_text(6000))
cfg = GPT2Config(vocab_size=V, n_positions=64, n_embd=64, n_layer=2, n_head=4,
                 resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=0)
model = GPT2LMHeadModel(cfg)
loader = DataLoader(train, batch_size=32, shuffle=True)
opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, 4e-3, total_steps=12 * len(loader))
for ep in range(12):
    model.train()
    losses = []
    for batch in loader:
        out = model(**batch)
        opt.zero_grad()
        out.loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        losses.append(out.loss.item())
    print(f"epoch {ep+1}: loss {np.mean(losses):.4f} (uniform would be {np.log(V):.2f})")

# how often is the greedy continuation by one token right?
model.eval()
hit = n = 0
with torch.no_grad():
    for b in held.blocks:
        b = torch.as_tensor(b).long()[None]
        pred = model(input_ids=b).logits[:, :-1].argmax(-1)
        hit += (pred[:, 4:] == b[:, 5:]).sum().item()
        n += b[:, 5:].numel()
print(f"next-token accuracy on held-out text: {hit/n:.4f}")
