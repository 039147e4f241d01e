# Entity embeddings for categorical columns, a la the Rossmann solution
import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.RandomState(2023)
torch.manual_seed(2023)

# ------------------------------------------------------------------ data
N = 9000
shops = ["shop_%02d" % i for i in range(40)]
items = ["item_%03d" % i for i in range(60)]
days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
shop_eff = dict(zip(shops, rng.normal(0, 1, 40)))
item_eff = dict(zip(items, rng.normal(0, 1, 60)))
day_eff = dict(zip(days, rng.normal(0, 0.6, 7)))
df = pd.DataFrame({
    "shop": rng.choice(shops, N),
    "item": rng.choice(items, N),
    "day": rng.choice(days, N),
    "promo": rng.randint(0, 2, N),
    "price": rng.gamma(4, 2, N),
})
df["log_sales"] = (df.shop.map(shop_eff) + df.item.map(item_eff) + df.day.map(day_eff)
                   + 0.5 * df.promo - 0.15 * (df.price - 8) + rng.normal(0, 0.3, N))

train = df.iloc[:7200].reset_index(drop=True)
valid = df.iloc[7200:].reset_index(drop=True)

CATS = ["shop", "item", "day"]
NUMS = ["promo", "price"]


def prepare(frame, stats=None):
    cats = np.stack([pd.factorize(frame[c])[0] for c in CATS], 1)
    nums = frame[NUMS].to_numpy(float)
    if stats is None:
        stats = nums.mean(0), nums.std(0)
    nums = (nums - stats[0]) / stats[1]
    return (torch.as_tensor(cats), torch.as_tensor(nums, dtype=torch.float32),
            torch.as_tensor(frame["log_sales"].to_numpy(), dtype=torch.float32)), stats


tr, stats = prepare(train)
va, _ = prepare(valid, stats)


# ------------------------------------------------------------------ model
class TabNet(nn.Module):
    def __init__(self, cards, n_num, p=0.1):
        super().__init__()
        self.embs = nn.ModuleList([nn.Embedding(c, min(12, (c + 1) // 2)) for c in cards])
        width = sum(e.embedding_dim for e in self.embs) + n_num
        self.net = nn.Sequential(nn.Linear(width, 64), nn.ReLU(), nn.Dropout(p),
                                 nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, c, x):
        e = [emb(c[:, i]) for i, emb in enumerate(self.embs)]
        return self.net(torch.cat(e + [x], 1)).squeeze(1)


model = TabNet([df[c].nunique() for c in CATS], len(NUMS))
opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-3)
loss_fn = nn.MSELoss()
train_dl = DataLoader(TensorDataset(*tr), batch_size=128, shuffle=True)
valid_dl = DataLoader(TensorDataset(*va), batch_size=512)

for epoch in range(12):
    model.train()
    tot = 0.0
    for c, x, y in train_dl:
        loss = loss_fn(model(c, x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() * len(y)
    model.eval()
    with torch.no_grad():
        vl = sum(loss_fn(model(c, x), y).item() * len(y) for c, x, y in valid_dl) / len(valid)
    print(f"{epoch:02d} train mse {tot / len(train):.4f} valid mse {vl:.4f}")

r2 = 1 - vl / valid["log_sales"].var()
print("valid R2 = %.4f" % r2)
