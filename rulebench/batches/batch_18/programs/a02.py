"""PINN for a damped oscillator: u'' + 2*mu*u' + k*u = 0 on t in [0, T], u(0)=1, u'(0)=0."""
import os
os.environ["KERAS_BACKEND"] = "jax"

import argparse
import numpy as np
import jax
import jax.numpy as jnp
import keras
from keras import layers

T_MAX = 3.0
MU, K = 0.4, 6.0


def exact(t):
    w = np.sqrt(K - MU ** 2)
    return np.exp(-MU * t) * (np.cos(w * t) + MU / w * np.sin(w * t))


def build(width, depth):
    inp = keras.Input((1,))
    h = inp
    for _ in range(depth):
        h = layers.Dense(width, activation="tanh")(h)
    return keras.Model(inp, layers.Dense(1)(h))


class Oscillator:
    """The network sees s = 2 t / T - 1 in [-1, 1]."""

    def __init__(self, model, weight_ic):
        self.model = model
        self.weight_ic = weight_ic

    def u(self, tv, s):
        out, _ = self.model.stateless_call(tv, [], jnp.reshape(s, (1, 1)))
        return out[0, 0]

    def derivatives(self, tv, s):
        c = 2.0 / T_MAX
        f = lambda v: self.u(tv, v)
        u = f(s)
        du = c * jax.grad(f)(s)
        ddu = c * jax.grad(jax.grad(f))(s)
        return u, du, ddu

    def loss(self, tv, s):
        def residual(v):
            u, du, ddu = self.derivatives(tv, v)
            return ddu + 2 * MU * du + K * u
        r = jax.vmap(residual)(s)
        u0, du0, _ = self.derivatives(tv, jnp.float32(-1.0))
        ic = (u0 - 1.0) ** 2 + du0 ** 2
        return jnp.mean(r ** 2) + self.weight_ic * ic


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=3000)
    ap.add_argument("--points", type=int, default=64)
    ap.add_argument("--width", type=int, default=24)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--weight-ic", type=float, default=30.0)
    args = ap.parse_args()

    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    model = build(args.width, 2)
    problem = Oscillator(model, args.weight_ic)
    schedule = keras.optimizers.schedules.CosineDecay(args.lr, args.steps, alpha=0.02)
    optimizer = keras.optimizers.Adam(schedule)
    optimizer.build(model.trainable_variables)

    tv = [v.value for v in model.trainable_variables]
    ov = [v.value for v in optimizer.variables]

    @jax.jit
    def step(tv, ov, s):
        loss, grads = jax.value_and_grad(problem.loss)(tv, s)
        tv, ov = optimizer.stateless_apply(ov, grads, tv)
        return loss, tv, ov

    for i in range(args.steps):
        s = jnp.asarray(rng.uniform(-1, 1, args.points), dtype=jnp.float32)
        loss, tv, ov = step(tv, ov, s)
        if i % 300 == 0:
            print(f"step {i:5d}  loss {float(loss):.5f}")

    for var, val in zip(model.trainable_variables, tv):
        var.assign(val)

    t = np.linspace(0, T_MAX, 200)
    s = (2 * t / T_MAX - 1).astype("float32")[:, None]
    u = np.asarray(model(s))[:, 0]
    err = np.sqrt(np.mean((u - exact(t)) ** 2) / np.mean(exact(t) ** 2))
    print(f"final loss {float(loss):.6f}   relative L2 error against the exact solution {err:.4f}")


if __name__ == "__main__":
    main()
