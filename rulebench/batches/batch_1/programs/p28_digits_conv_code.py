import torch, torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

# pytorch 2.x, cpu only
torch.manual_seed(3)
d = load_digits()
Xtr, Xte, ytr, yte = train_test_split(d.images / 16.0, d.target, test_size=0.2, random_state=3, stratify=d.target)
Xtr, Xte = [torch.tensor(a, dtype=torch.float32).unsqueeze(1) for a in (Xtr, Xte)]
ytr, yte = torch.tensor(ytr), torch.tensor(yte)


class ConvEncoder(nn.Module):
    def __init__(self, out_dim=6):
        super().__init__()
        self.c1 = nn.Conv2d(1, 12, 3, padding=1)
        self.c2 = nn.Conv2d(12, 16, 3, stride=2, padding=1)
        self.fc = nn.Linear(16 * 4 * 4, out_dim)

    def forward(self, x):
        x = F.leaky_relu(self.c1(x), 0.1)
        x = F.leaky_relu(self.c2(x), 0.1)
        return torch.tanh(self.fc(x.flatten(1)))


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = ConvEncoder()
        self.head = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 10))
        self.last_code = None

    def forward(self, x):
        # keep the code around, I plot it afterwards
        self.last_code = self.encoder(x).data
        return self.head(self.last_code)


model = Classifier()
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3, weight_decay=1e-5)
n_params = sum(p.numel() for p in model.parameters() if p.requires_grad)
print("trainable parameters:", n_params)

for epoch in range(25):
    perm = torch.randperm(len(Xtr))
    tot = 0.0
    for i in range(0, len(perm), 50):
        b = perm[i:i + 50]
        optimizer.zero_grad()
        loss = F.cross_entropy(model(Xtr[b]), ytr[b])
        loss.backward()
        optimizer.step()
        tot += loss.item() * len(b)
    if epoch % 4 == 0 or epoch == 24:
        with torch.no_grad():
            acc = (model(Xte).argmax(1) == yte).float().mean().item()
        print("Epoch %02d | loss %.3f | test acc %.3f" % (epoch, tot / len(Xtr), acc))

code = model.last_code
print("code mean/std per dim:", code.mean(0).numpy().round(2), code.std(0).numpy().round(2))
