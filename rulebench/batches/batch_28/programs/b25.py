import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

# Transfer: learn even digits with plenty of data, then the odd digits with few
torch.manual_seed(6)
X, y = load_digits(return_X_y=True)
X = torch.tensor(X / 16.0, dtype=torch.float32).view(-1, 1, 8, 8)
y = torch.tensor(y)
even, odd = y % 2 == 0, y % 2 == 1
Xs, ys = X[even], y[even] // 2
Xo, yo = X[odd], y[odd] // 2
perm = torch.randperm(len(Xo))
Xo, yo = Xo[perm], yo[perm]
X_train, y_train, X_test, y_test = Xo[:250], yo[:250], Xo[250:], yo[250:]


class SmallResNet(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.stem = nn.Conv2d(1, 16, 3, padding=1)
        self.conv1 = nn.Conv2d(16, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1, stride=2)
        self.fc = nn.Linear(32 * 16, num_classes)

    def forward(self, x):
        x = F.relu(self.stem(x))
        x = F.relu(x + self.conv1(x))
        x = F.relu(self.conv2(x))
        return self.fc(x.flatten(1))


def train(model, opt, X, y, epochs, tag, sched=None):
    for ep in range(epochs):
        model.train()
        tot = 0.0
        for idx in torch.randperm(len(X)).split(32):
            loss = F.cross_entropy(model(X[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item() * len(idx)
        if sched:
            sched.step()
        if ep % 10 == 0 or ep == epochs - 1:
            print(f"{tag} epoch {ep} loss {tot/len(X):.4f}")


# --- stage 1
model = SmallResNet(num_classes=5)
train(model, torch.optim.Adam(model.parameters(), lr=1e-3), Xs, ys, 12, "source")

# --- stage 2: small steps for the pretrained body, larger ones for the classifier
body = [p for n, p in model.named_parameters() if not n.startswith("fc")]
optimizer = torch.optim.SGD([{"params": body, "lr": 1e-4},
                             {"params": model.fc.parameters(), "lr": 1e-2}], momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=30, gamma=0.3)
model.fc = nn.Linear(model.fc.in_features, 5)   # fresh classifier for 1, 3, 5, 7, 9
train(model, optimizer, X_train, y_train, 60, "target", scheduler)

model.eval()
with torch.no_grad():
    acc = (model(X_test).argmax(1) == y_test).float().mean().item()
print("accuracy on unseen odd digits: %.4f" % acc)
