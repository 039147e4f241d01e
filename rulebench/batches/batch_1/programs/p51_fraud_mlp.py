# ~1.5% positives. pos_weight for the loss, output bias set to the prior, evaluation with average precision.
import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import make_classification
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.preprocessing import StandardScaler

torch.manual_seed(0)
X, y = make_classification(12000, 20, n_informative=8, n_redundant=4, weights=[0.985], class_sep=1.6, flip_y=0.002, random_state=0)
Xtr, ytr, Xte, yte = X[:9000], y[:9000], X[9000:], y[9000:]
s = StandardScaler().fit(Xtr)
Xtr, Xte = torch.tensor(s.transform(Xtr)).float(), torch.tensor(s.transform(Xte)).float()
ytr_t = torch.tensor(ytr).float()
prior = ytr.mean()
print("positive rate", prior)

clf = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 1))
nn.init.constant_(clf[-1].bias, float(np.log(prior / (1 - prior))))
crit = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(20.0))
opt = torch.optim.Adam(clf.parameters(), lr=1e-3)
for epoch in range(15):
    clf.train()
    losses = []
    for b in torch.randperm(len(Xtr)).split(64):
        loss = crit(clf(Xtr[b]).squeeze(1), ytr_t[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    clf.eval()
    with torch.no_grad():
        p = torch.sigmoid(clf(Xte).squeeze(1)).numpy()
    print("epoch %d  loss %.3f (min %.3f max %.3f)  AP %.3f  AUC %.3f" % (
        epoch, np.mean(losses), min(losses), max(losses), average_precision_score(yte, p), roc_auc_score(yte, p)))
