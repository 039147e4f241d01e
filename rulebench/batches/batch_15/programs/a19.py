"""Physics-informed network for the heat equation u_t = alpha * u_xx on x in [0,1], t in [0,T].

u(x,0) = sin(pi x), u(0,t) = u(1,t) = 0; exact solution exp(-alpha pi^2 t) sin(pi x).
"""
import os
os.environ["KERAS_BACKEND"] = "jax"
import argparse

import jax
import jax.numpy as jnp
import numpy as np
import keras
from keras import layers

ALPHA = 0.1
T_MAX = 2.0


def exact(x, t):
    return np.exp(-ALPHA * np.pi ** 2 * t) * np.sin(np.pi * x)


def build_net(width, depth):
    inp = keras.Input((2,))
    h = inp
    for _ in range(depth):
        h = layers.Dense(width, activation="tanh", kernel_initializer="glorot_normal")(h)
    return keras.Model(inp, layers.Dense(1)(h))


def sample(rng, n):
    """Coordinates are normalised: x in [0,1], s = t / T_MAX in [0,1]."""
    xi = rng.uniform(size=(n, 2))
    x0 = np.stack([rng.uniform(size=n // 2), np.zeros(n // 2)], -1)
    xb = np.stack([rng.integers(0, 2, n // 2).astype(float), rng.uniform(size=n // 2)], -1)
    return [a.astype("float32") for a in (xi, x0, xb)]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=2500)
    ap.add_argument("--points", type=int, default=128)
    ap.add_argument("--width", type=int, default=24)
    ap.add_argument("--depth", type=int, default=3)
    ap.add_argument("--lr", type=float, default=3e-3)
    args = ap.parse_args()

    keras.utils.set_random_seed(4)
    rng = np.random.default_rng(4)
    net = build_net(args.width, args.depth)
    schedule = keras.optimizers.schedules.CosineDecay(args.lr, args.steps)
    opt = keras.optimizers.Adam(schedule)
    opt.build(net.trainable_variables)

    def u(params, x, s):
        out, _ = net.stateless_call(params, [], jnp.stack([x, s])[None])
        return out[0, 0]

    u_s = jax.grad(u, argnums=2)
    u_xx = jax.grad(jax.grad(u, argnums=1), argnums=1)

    def residual(params, p):
        x, s = p[0], p[1]
        return u_s(params, x, s) - ALPHA * u_xx(params, x, s)

    def loss_fn(params, xi, x0, xb):
        r = jax.vmap(lambda p: residual(params, p))(xi)
        u0 = jax.vmap(lambda p: u(params, p[0], p[1]))(x0)
        ub = jax.vmap(lambda p: u(params, p[0], p[1]))(xb)
        l_pde = jnp.mean(r ** 2)
        l_ic = jnp.mean((u0 - jnp.sin(jnp.pi * x0[:, 0])) ** 2)
        l_bc = jnp.mean(ub ** 2)
        return l_pde + 10 * l_ic + 10 * l_bc, (l_pde, l_ic, l_bc)

    @jax.jit
    def step(params, opt_vars, xi, x0, xb):
        (loss, parts), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, xi, x0, xb)
        params, opt_vars = opt.stateless_apply(opt_vars, grads, params)
        return params, opt_vars, loss, parts

    params = [v.value for v in net.trainable_variables]
    opt_vars = [v.value for v in opt.variables]
    for i in range(args.steps):
        params, opt_vars, loss, parts = step(params, opt_vars, *sample(rng, args.points))
        if i % 250 == 0 or i == args.steps - 1:
            print(f"step {i:5d} loss {float(loss):.3e} "
                  f"pde {float(parts[0]):.2e} ic {float(parts[1]):.2e} bc {float(parts[2]):.2e}")

    for v, val in zip(net.trainable_variables, params):
        v.assign(val)

    xx, tt = np.meshgrid(np.linspace(0, 1, 41), np.linspace(0, T_MAX, 41))
    grid = np.stack([xx.ravel(), tt.ravel() / T_MAX], -1).astype("float32")
    pred = net.predict(grid, verbose=0).ravel()
    ref = exact(xx.ravel(), tt.ravel())
    print("relative L2 error %.4f" % (np.linalg.norm(pred - ref) / np.linalg.norm(ref)))
    print("u(0.5, T): net %.4f exact %.4f" % (pred[40 * 41 + 20], exact(0.5, T_MAX)))


if __name__ == "__main__":
    main()
