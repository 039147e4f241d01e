"""Train a very small GPT-2 from scratch on sequences that count upwards modulo 23 in steps 1..4"""
import torch
from torch.utils.data import DataLoader, Dataset
from transformers import GPT2Config, GPT2LMHeadModel

SEED = 1234
torch.manual_seed(SEED)
MOD, LEN = 23, 20


class CountingDataset(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        start = torch.randint(0, MOD, (n, 1), generator=g)
        step = torch.randint(1, 5, (n, 1), generator=g)
        self.data = (start + step * torch.arange(LEN + 1)) % MOD

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        seq = self.data[i]
        return {"input_ids": seq[:-1], "labels": seq[1:]}


config = GPT2Config(vocab_size=MOD, n_positions=32, n_embd=48, n_layer=2, n_head=4,
                    resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=0)
model = GPT2LMHeadModel(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

train_loader = DataLoader(CountingDataset(4000, 0), batch_size=64, shuffle=True)
test_set = CountingDataset(300, 1)

for epoch in range(6):
    model.train()
    total = 0.0
    for batch in train_loader:
        out = model(**batch)
        out.loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        total += out.loss.item()
    print(f"epoch {epoch} train loss {total / len(train_loader):.4f}")

# give the first 8 numbers, let the model continue
model.eval()
prompt = test_set.data[:, :8]
with torch.no_grad():
    out = prompt
    for _ in range(8):
        nxt = model(input_ids=out).logits[:, -1].argmax(-1, keepdim=True)
        out = torch.cat([out, nxt], 1)
match = (out[:, 8:16] == test_set.data[:, 8:16]).float().mean().item()
print("prompt      ", prompt[0].tolist())
print("continuation", out[0, 8:].tolist())
print("right tokens in the continuation:", match)
