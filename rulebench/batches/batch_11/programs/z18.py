"""Prototypical networks, 5-way 5-shot episodes on synthetic glyphs."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class Glyphs:
    """Each class is a random smooth template; samples are shifted and noisy."""

    def __init__(self, classes, seed, size=12):
        r = np.random.default_rng(seed)
        base = torch.tensor(r.normal(size=(classes, 1, 4, 4)), dtype=torch.float32)
        self.templates = F.interpolate(base, size=(size, size), mode="bicubic", align_corners=False)

    def draw(self, cls, n, g):
        x = self.templates[cls].expand(n, -1, -1, -1).clone()
        for i in range(n):
            dx, dy = torch.randint(-2, 3, (2,), generator=g).tolist()
            x[i] = torch.roll(x[i], (dx, dy), (1, 2))
        return x + 0.6 * torch.randn(x.shape, generator=g)


def episode(ds, way, shot, query, g):
    classes = torch.randperm(len(ds.templates), generator=g)[:way]
    data = torch.stack([ds.draw(c, shot + query, g) for c in classes])
    support, q = data[:, :shot], data[:, shot:]
    return support.flatten(0, 1), q.flatten(0, 1), torch.arange(way).repeat_interleave(query)


class Encoder(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        def blk(i, o):
            return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(), nn.MaxPool2d(2))
        self.net = nn.Sequential(blk(1, 16), blk(16, dim), nn.Flatten(), nn.Linear(dim * 9, dim))

    def forward(self, x):
        return self.net(x)


def episode_loss(enc, support, query, labels, way):
    z = enc(torch.cat([support, query]))
    protos = z[:len(support)].view(way, -1, z.shape[1]).mean(1)
    logits = -torch.cdist(z[len(support):], protos).pow(2)
    return F.cross_entropy(logits, labels), (logits.argmax(1) == labels).float().mean().item()


def main():
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(0)
    train, novel = Glyphs(60, 1), Glyphs(20, 2)
    enc = Encoder()
    opt = torch.optim.Adam(enc.parameters(), lr=2e-3)
    sched = torch.optim.lr_scheduler.StepLR(opt, 150, 0.5)
    accs = []
    for it in range(1, 401):
        enc.train()
        loss, acc = episode_loss(enc, *episode(train, 5, 5, 8, g), 5)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        accs.append(acc)
        if it % 80 == 0:
            enc.eval()
            ge = torch.Generator().manual_seed(9)
            with torch.no_grad():
                na = np.mean([episode_loss(enc, *episode(novel, 5, 5, 8, ge), 5)[1] for _ in range(40)])
            print(f"episode {it} loss {loss.item():.4f} train acc {np.mean(accs[-80:]):.4f} novel-class acc {na:.4f} (chance 0.2)")


if __name__ == "__main__":
    main()
