"""Heat equation u_t = a u_xx on [0,1]x[0,1], u(x,0)=sin(pi x), zero at both ends; PINN with hard constraints."""
import os
os.environ["KERAS_BACKEND"] = "jax"

import argparse
import numpy as np
import jax
import jax.numpy as jnp
import keras
from keras import layers

ALPHA = 0.15


def build(width):
    inp = keras.Input((2,))
    h = layers.Dense(width, activation="tanh")(inp)
    h = layers.Dense(width, activation="tanh")(h)
    return keras.Model(inp, layers.Dense(1)(h))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=1500)
    ap.add_argument("--width", type=int, default=20)
    ap.add_argument("--lr", type=float, default=5e-3)
    args = ap.parse_args()
    keras.utils.set_random_seed(3)
    rng = np.random.default_rng(3)
    net = build(args.width)
    opt = keras.optimizers.Adam(keras.optimizers.schedules.ExponentialDecay(args.lr, 500, 0.5))
    opt.build(net.trainable_variables)

    def u(tv, x, t):
        raw, _ = net.stateless_call(tv, [], jnp.stack([2 * x - 1, 2 * t - 1]).reshape(1, 2))
        return jnp.sin(jnp.pi * x) + t * x * (1 - x) * raw[0, 0]

    def residual(tv, x, t):
        u_t = jax.grad(u, argnums=2)(tv, x, t)
        u_xx = jax.grad(jax.grad(u, argnums=1), argnums=1)(tv, x, t)
        return u_t - ALPHA * u_xx

    def loss_fn(tv, x, t):
        return jnp.mean(jax.vmap(residual, in_axes=(None, 0, 0))(tv, x, t) ** 2)

    @jax.jit
    def step(tv, ov, x, t):
        loss, g = jax.value_and_grad(loss_fn)(tv, x, t)
        tv, ov = opt.stateless_apply(ov, g, tv)
        return loss, tv, ov

    tv = [v.value for v in net.trainable_variables]
    ov = [v.value for v in opt.variables]
    for i in range(args.steps):
        x, t = rng.uniform(0, 1, (2, 128)).astype("float32")
        loss, tv, ov = step(tv, ov, x, t)
        if i % 150 == 0:
            print(f"{i:5d} {float(loss):.6f}")

    gx, gt = np.meshgrid(np.linspace(0, 1, 30), np.linspace(0, 1, 30))
    got = np.asarray(jax.vmap(u, in_axes=(None, 0, 0))(tv, gx.ravel().astype("float32"), gt.ravel().astype("float32")))
    want = (np.exp(-ALPHA * np.pi ** 2 * gt) * np.sin(np.pi * gx)).ravel()
    print("relative error %.5f" % (np.linalg.norm(got - want) / np.linalg.norm(want)))


if __name__ == "__main__":
    main()
