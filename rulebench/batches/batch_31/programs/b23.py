"""Two-stage training: pretrain an encoder on plentiful data, save it, then fine-tune on 60 labelled examples.
Stage 1 was written for several workers, so its model is wrapped."""
import io
import torch
import torch.nn as nn
import torch.nn.functional as F

SEED = 0
torch.manual_seed(SEED)
torch.set_num_threads(1)
g = torch.Generator().manual_seed(99)
D, Z = 60, 4
mix1, mix2 = torch.randn(Z, 40, generator=g), torch.randn(40, D, generator=g)
coarse = torch.randn(Z, 16, generator=g)
family = torch.tensor([0, 1, 2, 3] * 4)          # each of the 16 species belongs to a family


def world(n):
    z = torch.randn(n, Z)
    x = torch.sin(1.3 * z @ mix1) @ mix2 / 6 + 0.3 * torch.randn(n, D)
    species = (z @ coarse).argmax(1)
    return x, species, family[species]


class Wrapped(nn.Module):
    """what DataParallel does, for the CPU"""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        return self.module(x)


class Net(nn.Module):
    def __init__(self, n_out):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(D, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 16), nn.ReLU())
        self.head = nn.Linear(16, n_out)

    def forward(self, x):
        return self.head(self.encoder(x))


# ---- stage 1
x1, y1, _ = world(20000)
net = Wrapped(Net(16))
opt = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=0.01)
for step in range(1, 1501):
    i = torch.randint(0, len(x1), (128,))
    loss = F.cross_entropy(net(x1[i]), y1[i])
    opt.zero_grad(); loss.backward(); opt.step()
    if step % 300 == 0:
        print("pretrain", step, round(loss.item(), 4))
buf = io.BytesIO()
torch.save(net.state_dict(), buf)

# ---- stage 2
buf.seek(0)
state = torch.load(buf)
state = {k: v for k, v in state.items() if not k.endswith(("head.weight", "head.bias"))}
model = Net(4)
model.load_state_dict(state, strict=False)      # the head is new, so not strict
print("loaded pretrained encoder (%d tensors)" % len(state))

xf, _, yf = world(60)
xt, _, yt = world(3000)
opt = torch.optim.AdamW([{"params": model.encoder.parameters(), "lr": 2e-4}, {"params": model.head.parameters(), "lr": 5e-3}], weight_decay=0.01)
for epoch in range(1, 61):
    model.train()
    for b in torch.randperm(60).split(15):
        loss = F.cross_entropy(model(xf[b]), yf[b])
        opt.zero_grad(); loss.backward(); opt.step()
    if epoch % 10 == 0:
        model.eval()
        with torch.no_grad():
            print(f"finetune epoch {epoch} loss {loss.item():.4f} test acc {(model(xt).argmax(1)==yt).float().mean():.4f}")
with torch.no_grad():
    print("fine-tuned test accuracy: %.4f" % (model(xt).argmax(1) == yt).float().mean().item())
