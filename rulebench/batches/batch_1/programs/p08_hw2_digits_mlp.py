# HW2, part b: "build a 7-layer perceptron for the digits, with your own initialisation"
import torch
from torch import nn
from sklearn import datasets, preprocessing, model_selection

torch.manual_seed(2023)

digits = datasets.load_digits()
X = preprocessing.scale(digits.data)
Xtr, Xte, ytr, yte = model_selection.train_test_split(X, digits.target, test_size=0.3, random_state=0)
Xtr, Xte = torch.tensor(Xtr).float(), torch.tensor(Xte).float()
ytr, yte = torch.tensor(ytr), torch.tensor(yte)


class MyMLP(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes[:-1], sizes[1:]))
        self.act = nn.Sigmoid()
        for lin in self.layers:
            nn.init.normal_(lin.weight, mean=0.0, std=0.05)
            nn.init.zeros_(lin.bias)

    def forward(self, x):
        for lin in self.layers[:-1]:
            x = self.act(lin(x))
        return self.layers[-1](x)


model = MyMLP([64, 64, 64, 48, 48, 32, 32, 10])
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

history = []
for epoch in range(1, 41):
    model.train()
    perm = torch.randperm(len(Xtr))
    for k in range(0, len(Xtr), 32):
        idx = perm[k:k + 32]
        optimizer.zero_grad()
        loss = loss_fn(model(Xtr[idx]), ytr[idx])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        full = loss_fn(model(Xtr), ytr).item()
        acc = (model(Xte).argmax(1) == yte).float().mean().item()
    history.append((full, acc))
    if epoch % 5 == 0:
        print('Epoch {:d}\tloss {:.4f}\ttest accuracy {:.2%}'.format(epoch, full, acc))
