import torch
import torch.nn as nn

torch.manual_seed(10)
# spirals with several arms
def spirals(n, arms=3):
    y = torch.randint(0, arms, (n,))
    r = torch.rand(n) * 2 + 0.1
    a = 2.5 * r + y * 2 * 3.14159 / arms
    return torch.stack([r * a.cos(), r * a.sin()], 1) + 0.05 * torch.randn(n, 2), y
X, y = spirals(1500)
Xt, yt = spirals(500)

class DeepNet(nn.Module):
    def __init__(self, width=64, depth=3):
        super().__init__()
        self.inp = nn.Linear(2, width)
        self.hidden = [nn.Linear(width, width) for _ in range(depth)]
        self.out = nn.Linear(width, 3)

    def forward(self, x):
        x = torch.relu(self.inp(x))
        for h in self.hidden:
            x = torch.relu(h(x))
        return self.out(x)

model = DeepNet()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(30):
    for b in torch.randperm(1500).split(50):
        loss = loss_fn(model(X[b]), y[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 5 == 4:
        with torch.no_grad():
            print(epoch + 1, "loss", round(loss.item(), 3), "test acc", (model(Xt).argmax(1) == yt).float().mean().item())
torch.save(model.state_dict(), "/tmp/deepnet_spiral.pt")
again = DeepNet()
again.load_state_dict(torch.load("/tmp/deepnet_spiral.pt"))
with torch.no_grad():
    print("accuracy after reloading", (again(Xt).argmax(1) == yt).float().mean().item())
