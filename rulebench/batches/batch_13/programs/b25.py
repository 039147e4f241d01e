# Vibration windows: autoencoder trained on normal machines only, reconstruction error is the anomaly score
import numpy as np
import torch
import torch.nn as nn
from sklearn.metrics import roc_auc_score

rng = np.random.default_rng(0)
torch.manual_seed(0)

def windows(n, faulty):
    t = np.arange(64) / 64
    f = rng.uniform(2, 4, (n, 1))
    x = np.sin(2 * np.pi * f * t + rng.uniform(0, 6.28, (n, 1))) + 0.1 * rng.normal(size=(n, 64))
    if faulty:
        x += 0.5 * np.sin(2 * np.pi * rng.uniform(9, 14, (n, 1)) * t)
    return x

normal = windows(2000, False)
lo, hi = normal.min(), normal.max()
scale = lambda a: torch.tensor(np.clip((a - lo) / (hi - lo), 0, 1), dtype=torch.float32)
Xtr = scale(normal)
Xte = scale(np.vstack([windows(300, False), windows(100, True)]))
yte = np.r_[np.zeros(300), np.ones(100)]

ae = nn.Sequential(
    nn.Linear(64, 48), nn.ELU(), nn.Linear(48, 8),
    nn.Linear(8, 48), nn.ELU(), nn.Linear(48, 64), nn.Sigmoid())
opt = torch.optim.Adam(ae.parameters(), lr=2e-3)

for epoch in range(60):
    tot = 0
    for b in torch.randperm(len(Xtr)).split(64):
        rec = ae(Xtr[b])
        loss = nn.functional.mse_loss(rec, Xtr[b])
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        tot += loss.item() * len(b)
    if epoch % 10 == 9:
        with torch.inference_mode():
            err = (ae(Xte) - Xte).pow(2).mean(1).numpy()
        print(f"epoch {epoch+1} train mse {tot/len(Xtr):.5f} auc {roc_auc_score(yte, err):.3f}")
