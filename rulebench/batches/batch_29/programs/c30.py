import io, torch, torch.nn as nn
# Two-stage job: the first slot of the cluster is short, so train, save, come back, resume.
torch.manual_seed(21)
g = torch.Generator().manual_seed(1)
t = torch.rand(2000, 2, generator=g) * 6 - 3
z = (torch.sin(t[:, :1] * 2) * torch.cos(t[:, 1:]) + 0.05 * torch.randn(2000, 1, generator=g))
tx, ty, vx, vy = t[:1600], z[:1600], t[1600:], z[1600:]

def build():
    return nn.Sequential(nn.Linear(2, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1))

class Trainer:
    def __init__(self, lr=1e-3):
        self.model = build()
        self.opt = torch.optim.Adam(self.model.parameters(), lr=lr)
        self.epoch = 0
    def save(self):
        buf = io.BytesIO()
        torch.save(dict(model=self.model.state_dict(), opt=self.opt.state_dict(), epoch=self.epoch), buf)
        return buf.getvalue()
    def resume(self, blob):
        ck = torch.load(io.BytesIO(blob))
        self.opt.load_state_dict(ck["opt"])
        self.model = build()
        self.model.load_state_dict(ck["model"])
        self.epoch = ck["epoch"]
    def run(self, until):
        while self.epoch < until:
            p = torch.randperm(len(tx)); s = 0
            for i in range(0, len(p), 64):
                b = p[i:i+64]
                loss = nn.functional.mse_loss(self.model(tx[b]), ty[b])
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                s += loss.item()
            self.epoch += 1
            if self.epoch % 10 == 0:
                print(f"[{self.epoch:3d}] train mse {s/25:.4f}")

a = Trainer(); a.run(10)
blob = a.save()
print("-- slot 2 --")
b = Trainer(); b.resume(blob); b.run(120)
with torch.no_grad():
    print("held-out mse %.4f (variance of target %.3f)" % (nn.functional.mse_loss(b.model(vx), vy), vy.var()))
