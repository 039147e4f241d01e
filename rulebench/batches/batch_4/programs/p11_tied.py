"""Denoising autoencoder with tied weights (decoder = transposed encoder)."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

SEED = 21
torch.manual_seed(SEED)


class TiedAutoencoder(nn.Module):
    def __init__(self, n_in=64, n_h1=48, n_h2=16):
        super().__init__()
        self.w1 = nn.Parameter(torch.empty(n_h1, n_in))
        self.w2 = nn.Parameter(torch.empty(n_h2, n_h1))
        nn.init.xavier_uniform_(self.w1)
        nn.init.xavier_uniform_(self.w2)
        self.b1 = nn.Parameter(torch.zeros(n_h1))
        self.b2 = nn.Parameter(torch.zeros(n_h2))
        self.c1 = nn.Parameter(torch.zeros(n_h1))
        self.c2 = nn.Parameter(torch.zeros(n_in))

    def encode(self, x):
        return F.linear(torch.tanh(F.linear(x, self.w1, self.b1)), self.w2, self.b2)

    def decode(self, z):
        h = torch.tanh(F.linear(z, self.w2.t(), self.c1))
        return F.linear(h, self.w1.t(), self.c2)

    def forward(self, x):
        return self.decode(self.encode(x))


def corrupt(x, p=0.25):
    return x * (torch.rand_like(x) > p)


images = torch.tensor(load_digits().data, dtype=torch.float32) / 8 - 1
images = images[torch.randperm(len(images))]
train, test = images[:1400], images[1400:]

net = TiedAutoencoder()
print("parameters:", sum(p.numel() for p in net.parameters()))
opt = torch.optim.RMSprop(net.parameters(), lr=1e-3)
gamma = torch.optim.lr_scheduler.ExponentialLR(opt, 0.97)

for epoch in range(60):
    net.train()
    running = 0.
    for xb in train[torch.randperm(len(train))].split(50):
        out = net(corrupt(xb))           # noisy in, clean out
        loss = (out - xb).pow(2).sum(1).mean()
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        running += loss.item() * len(xb)
    gamma.step()
    if epoch % 10 == 9:
        print("epoch %2d loss %.3f lr %.2e" % (epoch + 1, running / len(train), opt.param_groups[0]["lr"]))

net.eval()
with torch.no_grad():
    noisy = corrupt(test)
    print("noisy pictures   MSE %.4f" % F.mse_loss(noisy, test))
    print("mean picture     MSE %.4f" % F.mse_loss(train.mean(0).expand_as(test), test))
    print("denoised         MSE %.4f" % F.mse_loss(net(noisy), test))
    print("clean through AE MSE %.4f" % F.mse_loss(net(test), test))
