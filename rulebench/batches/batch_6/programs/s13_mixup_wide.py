# Mixup + label smoothing on noisy tabular classes; the train loss never goes near zero here
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

torch.manual_seed(71); np.random.seed(71)
X, y = make_classification(2500, 20, n_informative=12, n_redundant=0, n_classes=4, n_clusters_per_class=2,
                           flip_y=0.1, class_sep=1.3, random_state=71)
Xa, Xb, ya, yb = train_test_split(X.astype("float32"), y, test_size=0.3, random_state=71)
mu, sd = Xa.mean(0), Xa.std(0)
Xa, Xb = map(lambda v: torch.from_numpy((v - mu) / sd), (Xa, Xb))
ya, yb = torch.from_numpy(ya), torch.from_numpy(yb)

net = nn.Sequential(nn.Linear(20, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 4))
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-4)
sched = torch.optim.lr_scheduler.MultiStepLR(opt, [15, 22], gamma=0.1)
for epoch in range(26):
    net.train()
    losses = []
    for idx in torch.randperm(len(Xa)).split(64):
        if len(idx) < 8:
            continue
        lam = float(np.random.beta(0.4, 0.4))
        j = idx[torch.randperm(len(idx))]
        out = net(lam * Xa[idx] + (1 - lam) * Xa[j])
        loss = lam * F.cross_entropy(out, ya[idx], label_smoothing=0.1) + (1 - lam) * F.cross_entropy(out, ya[j], label_smoothing=0.1)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    sched.step()
    if epoch % 3 == 0 or epoch == 25:
        net.eval()
        with torch.no_grad():
            acc = (net(Xb).argmax(1) == yb).float().mean()
        print(f"epoch {epoch:02d} mixup loss {np.mean(losses):.4f} test acc {acc:.4f} lr {sched.get_last_lr()[0]:.4f}")
