# linear probe on random convolution features (everything but the head is frozen)
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

torch.manual_seed(0)
d = load_digits()
tr_x, te_x, tr_y, te_y = train_test_split(d.images / 16.0, d.target, test_size=0.3, random_state=0)
tr_x = torch.tensor(tr_x, dtype=torch.float32)[:, None]
te_x = torch.tensor(te_x, dtype=torch.float32)[:, None]
tr_y, te_y = torch.tensor(tr_y), torch.tensor(te_y)

backbone = nn.Sequential(nn.Conv2d(1, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.BatchNorm1d(64 * 9, affine=False))
with torch.no_grad():
    for _ in range(50):
        backbone(tr_x)
backbone.eval()
for p in backbone.parameters():
    p.requires_grad = False

head = nn.Linear(64 * 9, 10)
nn.init.zeros_(head.weight)
nn.init.zeros_(head.bias)
opt = torch.optim.SGD(filter(lambda p: p.requires_grad, [*backbone.parameters(), *head.parameters()]), lr=0.02, momentum=0.9, weight_decay=1e-3)

for epoch in range(15):
    loss_sum = 0
    for b in torch.randperm(len(tr_x)).split(50):
        loss = nn.functional.cross_entropy(head(backbone(tr_x[b])), tr_y[b])
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        loss_sum += loss.item() * len(b)
    with torch.no_grad():
        acc = (head(backbone(te_x)).argmax(1) == te_y).float().mean()
    print(epoch, "loss %.4f" % (loss_sum / len(tr_x)), "test acc %.3f" % acc)
