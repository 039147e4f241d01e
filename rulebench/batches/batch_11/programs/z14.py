"""WGAN with gradient penalty on a 2-D mixture."""
import torch
import torch.nn as nn

STEPS, N_CRITIC, BATCH, LAMBDA, Z = 700, 3, 128, 2.0, 4


def real_batch(n):
    sign = torch.randint(0, 2, (n, 1)).float() * 2 - 1
    t = torch.rand(n, 1) * 2 - 1
    return torch.cat([t + 0.3 * sign, sign * (1 - t ** 2)], 1) + 0.05 * torch.randn(n, 2)


def net(i, o, h=64):
    return nn.Sequential(nn.Linear(i, h), nn.LeakyReLU(0.2), nn.Linear(h, h), nn.LeakyReLU(0.2), nn.Linear(h, o))


def gradient_penalty(critic, real, fake):
    a = torch.rand(len(real), 1)
    mix = (a * real + (1 - a) * fake).requires_grad_(True)
    g, = torch.autograd.grad(critic(mix).sum(), mix, create_graph=True)
    return ((g.norm(2, dim=1) - 1) ** 2).mean()


class WGAN:
    def __init__(self):
        self.gen, self.critic = net(Z, 2), net(2, 1)
        self.opt_g = torch.optim.Adam(self.gen.parameters(), 1e-3, betas=(0.0, 0.9))
        self.opt_c = torch.optim.Adam(self.critic.parameters(), 1e-3, betas=(0.0, 0.9))

    def critic_step(self):
        real = real_batch(BATCH)
        with torch.no_grad():
            fake = self.gen(torch.randn(BATCH, Z))
        w = self.critic(real).mean() - self.critic(fake).mean()
        loss = -w + LAMBDA * gradient_penalty(self.critic, real, fake)
        self.opt_c.zero_grad()
        loss.backward()
        self.opt_c.step()
        return w.item()

    def generator_step(self):
        for p in self.critic.parameters():
            p.requires_grad_(False)
        loss = -self.critic(self.gen(torch.randn(BATCH, Z))).mean()
        self.opt_g.zero_grad()
        loss.backward()
        self.opt_g.step()
        for p in self.critic.parameters():
            p.requires_grad_(True)
        return loss.item()


@torch.no_grad()
def energy(gan, n=1000):
    a, b = gan.gen(torch.randn(n, Z)), real_batch(n)
    return (2 * torch.cdist(a, b).mean() - torch.cdist(a, a).mean() - torch.cdist(b, b).mean()).item()


def main():
    torch.manual_seed(0)
    gan = WGAN()
    print(f"energy distance at start {energy(gan):.4f}")
    for step in range(1, STEPS + 1):
        for _ in range(N_CRITIC):
            w = gan.critic_step()
        g = gan.generator_step()
        if step % 100 == 0:
            print(f"step {step} wasserstein {w:.4f} gen {g:.4f} energy distance {energy(gan):.4f}")


if __name__ == "__main__":
    main()
