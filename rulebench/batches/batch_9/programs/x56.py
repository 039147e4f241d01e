import torch
from torch import nn

torch.manual_seed(210)
# big teacher, small student with frozen teacher
d, c = 16, 8
def data(n):
    x = torch.randn(n, d)
    return x, ((x[:, :3] > 0).long() * torch.tensor([1, 2, 4])).sum(1)
Xa, ya = data(2000)
Xb, yb = data(500)
teacher = nn.Sequential(nn.Linear(d, 128), nn.ReLU(), nn.Linear(128, c))
student = nn.Sequential(nn.Linear(d, 24), nn.ReLU(), nn.Linear(24, c))

def fit(model, loss_fn, epochs):
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for e in range(epochs):
        tot = 0
        for b in torch.randperm(len(Xa)).split(50):
            loss = loss_fn(model(Xa[b]), b)
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item() / 40
        if e % 4 == 3:
            print("  epoch", e + 1, "loss %.4f" % tot)

acc = lambda m: (m(Xb).argmax(1) == yb).float().mean().item()
fit(teacher, lambda o, b: nn.functional.cross_entropy(o, ya[b]), 12)
teacher.eval()
for q in teacher.parameters():
    q.requires_grad_(False)
print("teacher", acc(teacher))
T = 3.0

def distill(o, b):
    with torch.no_grad():
        soft = (teacher(Xa[b]) / T).softmax(1)
    kd = nn.functional.kl_div((o / T).log_softmax(1), soft, reduction="batchmean") * T * T
    return 0.7 * kd + 0.3 * nn.functional.cross_entropy(o, ya[b])

fit(student, distill, 16)
print("student", acc(student))
