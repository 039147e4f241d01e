"""Damped oscillator with a PINN:  x'' + 2*b*x' + w0^2*x = 0,  x(0)=1, x'(0)=0,  t in [0, T]."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import argparse
import numpy as np
import torch
import keras
from keras import layers


class PINN(keras.Model):
    def __init__(self, width, depth, t_max):
        super().__init__()
        self.t_max = t_max
        self.hidden = [layers.Dense(width, activation="tanh") for _ in range(depth)]
        self.out = layers.Dense(1)

    def call(self, tau):
        h = 2.0 * tau - 1.0
        for layer in self.hidden:
            h = layer(h)
        return self.out(h)


def d(y, x):
    return torch.autograd.grad(y, x, grad_outputs=torch.ones_like(y), create_graph=True)[0]


def residual(net, tau, b, w0):
    x = net(tau)
    x1 = d(x, tau)
    x2 = d(x1, tau)
    return x2 + 2 * b * x1 + w0 ** 2 * x


def initial(net):
    tau0 = torch.zeros((1, 1), requires_grad=True)
    x0 = net(tau0)
    v0 = d(x0, tau0) / net.t_max
    return (x0 - 1.0).pow(2).mean(), v0.pow(2).mean()


def exact(t, b, w0):
    w = np.sqrt(w0 ** 2 - b ** 2)
    return np.exp(-b * t) * (np.cos(w * t) + b / w * np.sin(w * t))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=2500)
    p.add_argument("--lr", type=float, default=4e-3)
    p.add_argument("--t-max", type=float, default=3.0)
    p.add_argument("--b", type=float, default=0.3)
    p.add_argument("--w0", type=float, default=2.0)
    p.add_argument("--points", type=int, default=64)
    a = p.parse_args()

    keras.utils.set_random_seed(0)
    net = PINN(32, 2, a.t_max)
    net(torch.zeros((1, 1)))
    lr = keras.optimizers.schedules.ExponentialDecay(a.lr, 1000, 0.5)
    opt = keras.optimizers.Adam(lr)
    tv = net.trainable_variables

    for step in range(a.steps):
        tau = torch.rand((a.points, 1), requires_grad=True)
        res = residual(net, tau, a.b, a.w0).pow(2).mean()
        px, pv = initial(net)
        loss = res + 20 * px + 5 * pv
        net.zero_grad()
        loss.backward()
        with torch.no_grad():
            opt.apply([v.value.grad for v in tv], tv)
        if step % 250 == 0 or step == a.steps - 1:
            print(f"step {step:5d} loss {loss.item():.5f} residual {res.item():.5f} ic {px.item():.2e} {pv.item():.2e}")

    t = np.linspace(0, a.t_max, 101)
    pred = keras.ops.convert_to_numpy(net((t / a.t_max)[:, None].astype("float32"))).ravel()
    err = np.sqrt(np.mean((pred - exact(t, a.b, a.w0)) ** 2))
    print("RMSE against exact solution:", err, " rms of solution:", np.sqrt(np.mean(exact(t, a.b, a.w0) ** 2)))


if __name__ == "__main__":
    main()
