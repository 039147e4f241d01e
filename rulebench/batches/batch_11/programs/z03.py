"""GAN on a ring of Gaussians."""
import math
import torch
import torch.nn as nn

config = {"modes": 6, "radius": 2.0, "std": 0.12, "z_dim": 8, "hidden": 64, "batch": 128, "steps": 1500, "lr_g": 1e-3, "lr_d": 1e-3}


def sample_real(n):
    k = torch.randint(0, config["modes"], (n,))
    a = 2 * math.pi * k / config["modes"]
    c = config["radius"] * torch.stack([a.cos(), a.sin()], 1)
    return c + config["std"] * torch.randn(n, 2)


def mlp(i, o, h, act):
    return nn.Sequential(nn.Linear(i, h), act(), nn.Linear(h, h), act(), nn.Linear(h, o))


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = mlp(config["z_dim"], 2, config["hidden"], nn.ReLU)

    def forward(self, n):
        return self.net(torch.randn(n, config["z_dim"]))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = mlp(2, 1, config["hidden"], lambda: nn.LeakyReLU(0.2))

    def forward(self, x):
        return self.net(x)[:, 0]


class Trainer:
    def __init__(self):
        self.G, self.D = Generator(), Discriminator()
        self.opt_g = torch.optim.Adam(self.G.parameters(), lr=config["lr_g"], betas=(0.5, 0.999))
        self.opt_d = torch.optim.Adam(self.D.parameters(), lr=config["lr_d"], betas=(0.5, 0.999))
        self.bce = nn.BCEWithLogitsLoss()

    def step(self):
        n = config["batch"]
        real, fake = sample_real(n), self.G(n)
        d_real, d_fake = self.D(real), self.D(fake.detach())
        loss_d = self.bce(d_real, torch.full_like(d_real, 0.9)) + self.bce(d_fake, torch.zeros_like(d_fake))
        self.opt_d.zero_grad()
        loss_d.backward()
        self.opt_d.step()

        out = self.D(fake.detach())
        loss_g = self.bce(out, torch.ones_like(out))
        self.opt_g.zero_grad()
        loss_g.backward()
        self.opt_g.step()
        return loss_d.item(), loss_g.item()

    @torch.no_grad()
    def quality(self, n=2000):
        x = self.G(n)
        a = 2 * math.pi * torch.arange(config["modes"]) / config["modes"]
        c = config["radius"] * torch.stack([a.cos(), a.sin()], 1)
        d, k = torch.cdist(x, c).min(1)
        good = d < 4 * config["std"]
        covered = len(set(k[good].tolist()))
        return good.float().mean().item(), covered


def main():
    torch.manual_seed(4)
    t = Trainer()
    for step in range(config["steps"]):
        ld, lg = t.step()
        if (step + 1) % 250 == 0:
            q, m = t.quality()
            print(f"step {step + 1} D {ld:.3f} G {lg:.3f} near-mode {q:.3f} modes {m}")


if __name__ == "__main__":
    main()
