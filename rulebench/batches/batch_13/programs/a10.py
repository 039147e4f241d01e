"""Physics-informed network for a damped oscillator.

    x'' + 2 d x' + w0^2 x = 0,  x(0) = 1,  x'(0) = 0

The network sees the time scaled to [0, 1].
"""
import os
os.environ["KERAS_BACKEND"] = "jax"
import argparse

import jax
import jax.numpy as jnp
import numpy as np
import keras
from keras import layers


class Oscillator:
    def __init__(self, d=1.0, w0=5.0, t_end=2.0):
        self.d, self.w0, self.t_end = d, w0, t_end

    def exact(self, t):
        w = np.sqrt(self.w0 ** 2 - self.d ** 2)
        phi = np.arctan(-self.d / w)
        return np.exp(-self.d * t) * np.cos(phi + w * t) / np.cos(phi)


def build_net(width, depth):
    net = keras.Sequential([layers.Input((1,))])
    for _ in range(depth):
        net.add(layers.Dense(width, activation="tanh"))
    net.add(layers.Dense(1))
    return net


class Trainer:
    def __init__(self, net, problem, lr, steps, n_col):
        self.net, self.pb = net, problem
        sched = keras.optimizers.schedules.CosineDecay(lr, steps, alpha=0.01)
        self.opt = keras.optimizers.Adam(sched)
        self.opt.build(net.trainable_variables)
        self.s = jnp.linspace(0.0, 1.0, n_col)
        self.step = jax.jit(self._step)

    def u(self, tv, s):
        out, _ = self.net.stateless_call(tv, [], jnp.reshape(s, (1, 1)))
        return out[0, 0]

    def losses(self, tv):
        T = self.pb.t_end
        f = lambda s: self.u(tv, s)
        du = jax.grad(f)
        d2u = jax.grad(du)

        x = jax.vmap(f)(self.s)
        x_t = jax.vmap(du)(self.s) / T
        x_tt = jax.vmap(d2u)(self.s) / T
        res = x_tt + 2 * self.pb.d * x_t + self.pb.w0 ** 2 * x
        physics = jnp.mean(res ** 2)
        start = (f(0.0) - 1.0) ** 2
        slope = (du(0.0) / T) ** 2
        return 1e-3 * physics + start + 0.1 * slope

    def _step(self, tv, ov):
        loss, grads = jax.value_and_grad(self.losses)(tv)
        tv, ov = self.opt.stateless_apply(ov, grads, tv)
        return loss, tv, ov

    def fit(self, steps, log_every=500):
        tv = [v.value for v in self.net.trainable_variables]
        ov = [v.value for v in self.opt.variables]
        for k in range(steps):
            loss, tv, ov = self.step(tv, ov)
            if k % log_every == 0 or k == steps - 1:
                print(f"step {k:5d}  loss {float(loss):.3e}")
        for var, val in zip(self.net.trainable_variables, tv):
            var.assign(val)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=6000)
    ap.add_argument("--width", type=int, default=32)
    ap.add_argument("--depth", type=int, default=2)
    ap.add_argument("--lr", type=float, default=5e-3)
    args = ap.parse_args()
    keras.utils.set_random_seed(2)

    pb = Oscillator()
    net = build_net(args.width, args.depth)
    Trainer(net, pb, args.lr, args.steps, n_col=64).fit(args.steps)

    t = np.linspace(0, pb.t_end, 200)
    pred = np.asarray(net(jnp.asarray(t[:, None] / pb.t_end, dtype="float32"))).ravel()
    err = np.linalg.norm(pred - pb.exact(t)) / np.linalg.norm(pb.exact(t))
    print(f"relative L2 error against the closed form: {err:.4f}")


if __name__ == "__main__":
    main()
