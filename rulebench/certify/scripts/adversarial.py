"""A generator and a discriminator, one optimizer each."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2)
netG = nn.Sequential(nn.Linear(4, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 2))
netD = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1), nn.Sigmoid())
criterion = nn.BCELoss()
fixed_noise = torch.randn(16, 4)
optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
angles = 6.28 * torch.rand(512)
data = TensorDataset(torch.stack([angles.cos(), angles.sin()], 1))
for epoch in range(3):
    for i, (real,) in enumerate(DataLoader(data, batch_size=32, shuffle=True, drop_last=True)):
        netD.zero_grad()
        label = torch.full((len(real),), 1.0)
        errD_real = criterion(netD(real).view(-1), label)
        errD_real.backward()
        fake = netG(torch.randn(len(real), 4))
        label.fill_(0.0)
        errD_fake = criterion(netD(fake.detach()).view(-1), label)
        errD_fake.backward()
        optimizerD.step()
        netG.zero_grad()
        label.fill_(1.0)
        errG = criterion(netD(fake).view(-1), label)
        errG.backward()
        optimizerG.step()
        if i % 8 == 0:
            with torch.no_grad():
                print(epoch, i, errD_real.item(), errG.item(), netG(fixed_noise).mean().item())
