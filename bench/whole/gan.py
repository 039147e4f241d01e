"""Trains a tiny DCGAN on synthetic images; a step trains the discriminator and the generator."""

import argparse
import time

import torch
import torch.nn as nn
import torch.optim as optim

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=300, help="pairs of optimizer steps")
opt = parser.parse_args()

torch.manual_seed(999)
batch_size, nz, ngf, ndf = 48, 32, 16, 16


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        nn.init.normal_(m.weight.data, 0.0, 0.02)
    elif classname.find("BatchNorm") != -1:
        nn.init.normal_(m.weight.data, 1.0, 0.02)
        nn.init.constant_(m.bias.data, 0)


netG = nn.Sequential(  # noqa: N816
    nn.ConvTranspose2d(nz, ngf * 2, 4, 1, 0, bias=False),
    nn.BatchNorm2d(ngf * 2),
    nn.ReLU(True),
    nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False),
    nn.BatchNorm2d(ngf),
    nn.ReLU(True),
    nn.ConvTranspose2d(ngf, 1, 4, 2, 1, bias=False),
    nn.Tanh(),
).apply(weights_init)

netD = nn.Sequential(  # noqa: N816
    nn.Conv2d(1, ndf, 4, 2, 1, bias=False),
    nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(ndf, ndf * 2, 4, 2, 1, bias=False),
    nn.BatchNorm2d(ndf * 2),
    nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(ndf * 2, 1, 4, 1, 0, bias=False),
).apply(weights_init)

# images of one bright square on black
images = torch.full((1024, 1, 16, 16), -1.0)
corners = torch.randint(0, 10, (1024, 2))
for image, (row, column) in zip(images, corners.tolist(), strict=True):
    image[:, row : row + 6, column : column + 6] = 1.0

criterion = nn.BCEWithLogitsLoss()
real_label, fake_label = torch.ones(batch_size), torch.zeros(batch_size)
optimizerD = optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))  # noqa: N816
optimizerG = optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))  # noqa: N816

warmup = max(1, min(20, opt.steps // 10))
start = time.perf_counter()
for i in range(opt.steps):
    if i == warmup:
        start = time.perf_counter()

    # (1) Update D: maximize log(D(x)) + log(1 - D(G(z)))
    netD.zero_grad()
    real = images[torch.randint(0, len(images), (batch_size,))]
    errD_real = criterion(netD(real).view(-1), real_label)  # noqa: N816
    errD_real.backward()
    fake = netG(torch.randn(batch_size, nz, 1, 1))
    errD_fake = criterion(netD(fake.detach()).view(-1), fake_label)  # noqa: N816
    errD_fake.backward()
    optimizerD.step()

    # (2) Update G: maximize log(D(G(z)))
    netG.zero_grad()
    errG = criterion(netD(fake).view(-1), real_label)  # noqa: N816
    errG.backward()
    optimizerG.step()

    if i % 20 == 0:
        errD = errD_real.item() + errD_fake.item()  # noqa: N816
        print(f"[{i}/{opt.steps}] Loss_D: {errD:.4f} Loss_G: {errG.item():.4f}")

elapsed = time.perf_counter() - start
print(f"steps_per_s={(opt.steps - warmup) / elapsed:.3f} loss={errG.item()!r}")
