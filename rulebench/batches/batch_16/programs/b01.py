# house-price style regression on a heavy tailed target
import numpy as np
import torch
from torch import nn
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OneHotEncoder, StandardScaler
import pandas as pd

torch.manual_seed(0)
rng = np.random.default_rng(0)
n = 3000
df = pd.DataFrame({
    "area": rng.lognormal(4.5, 0.4, n),
    "rooms": rng.integers(1, 8, n),
    "age": rng.uniform(0, 90, n),
    "zone": rng.choice(list("ABCDE"), n),
})
zone_effect = df.zone.map({"A": 0.0, "B": 0.2, "C": -0.3, "D": 0.5, "E": 0.1})
price = np.exp(8 + 0.8 * np.log(df.area) + 0.05 * df.rooms - 0.004 * df.age + zone_effect
               + rng.normal(scale=0.1, size=n)).to_numpy()

Xtr, Xte, ytr, yte = train_test_split(df, price, test_size=0.2, random_state=1)
prep = ColumnTransformer([("num", StandardScaler(), ["area", "rooms", "age"]),
                          ("cat", OneHotEncoder(sparse_output=False), ["zone"])])
Xtr = torch.tensor(prep.fit_transform(Xtr), dtype=torch.float32)
Xte = torch.tensor(prep.transform(Xte), dtype=torch.float32)
lt = np.log1p(ytr)
m, s = lt.mean(), lt.std()
t = torch.tensor((lt - m) / s, dtype=torch.float32)

net = nn.Sequential(nn.Linear(Xtr.shape[1], 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1), nn.Flatten(0))
EPOCHS, BS = 20, 64
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
steps = EPOCHS * (len(Xtr) // BS)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=1e-2, total_steps=steps)
for epoch in range(EPOCHS):
    perm = torch.randperm(len(Xtr))
    for k in range(len(Xtr) // BS):
        b = perm[k * BS:(k + 1) * BS]
        loss = nn.functional.huber_loss(net(Xtr[b]), t[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
    if epoch % 5 == 4:
        with torch.no_grad():
            pred = np.expm1(net(Xte).numpy() * s + m)
        print(f"epoch {epoch + 1} loss {loss.item():.4f} MAPE {np.mean(np.abs(pred - yte) / yte):.3f}")
