'''
Deep autoencoder (tanh, 2-d bottleneck) on digits, SGD.
'''
import torch
from torch import nn
from sklearn.datasets import load_digits

torch.manual_seed(14)
x = torch.tensor(load_digits().data, dtype=torch.float32) / 16
mean = x.mean(0)


def mlp(sizes):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        lin = nn.Linear(a, b)
        nn.init.xavier_uniform_(lin.weight, gain=0.6)
        layers += [lin, nn.Tanh()]
    return nn.Sequential(*layers[:-1])


enc = mlp([64, 48, 24, 2])
dec = mlp([2, 24, 48, 64])
opt = torch.optim.SGD(list(enc.parameters()) + list(dec.parameters()), lr=0.1, momentum=0.9)
print("mse of the mean image: %.5f" % ((x - mean) ** 2).mean())
step = 0
for epoch in range(150):
    for b in torch.randperm(len(x)).split(64):
        rec = dec(enc(x[b]))
        loss = ((rec - x[b]) ** 2).sum(1).mean() / 8
        opt.zero_grad()
        loss.backward()
        opt.step()
        step += 1
    if epoch % 10 == 0:
        with torch.no_grad():
            print("epoch %3d step %5d mse %.5f" % (epoch, step, ((dec(enc(x)) - x) ** 2).mean()))
with torch.no_grad():
    z = enc(x)
    print("final mse %.5f, code std %s" % (((dec(z) - x) ** 2).mean(), z.std(0).tolist()))
