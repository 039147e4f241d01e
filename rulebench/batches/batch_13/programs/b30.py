"""MAML for sinusoid regression in plain JAX, second-order gradients by differentiating the inner loop."""
import argparse
import jax
import jax.numpy as jnp
import numpy as np
import optax


def init(key, sizes=(1, 40, 40, 1)):
    keys = jax.random.split(key, len(sizes) - 1)
    return [(jax.random.normal(k, (m, n)) / jnp.sqrt(m), jnp.zeros(n)) for k, m, n in zip(keys, sizes[:-1], sizes[1:])]


def net(params, x):
    for w, b in params[:-1]:
        x = jnp.tanh(x @ w + b)
    w, b = params[-1]
    return x @ w + b


def mse(params, x, y):
    return jnp.mean((net(params, x) - y) ** 2)


def adapt(params, x, y, lr, steps):
    for _ in range(steps):
        g = jax.grad(mse)(params, x, y)
        params = jax.tree.map(lambda p, gi: p - lr * gi, params, g)
    return params


def sample_tasks(rng, n, shots):
    amp, ph = rng.uniform(0.5, 3.0, (n, 1, 1)), rng.uniform(0, np.pi, (n, 1, 1))
    x = rng.uniform(-4, 4, (n, 2 * shots, 1))
    y = amp * np.sin(x + ph)
    x, y = x.astype(np.float32), y.astype(np.float32)
    return x[:, :shots], y[:, :shots], x[:, shots:], y[:, shots:]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--iters", type=int, default=3000)
    ap.add_argument("--tasks", type=int, default=16)
    ap.add_argument("--shots", type=int, default=10)
    ap.add_argument("--inner-lr", type=float, default=0.02)
    ap.add_argument("--outer-lr", type=float, default=2e-3)
    args = ap.parse_args()
    rng = np.random.default_rng(0)
    params = init(jax.random.PRNGKey(0))
    opt = optax.chain(optax.clip_by_global_norm(5.0), optax.adam(args.outer_lr))
    state = opt.init(params)

    def query_loss(params, xs, ys, xq, yq, steps=1):
        one = lambda a, b, c, d: mse(adapt(params, a, b, args.inner_lr, steps), c, d)
        return jax.vmap(one)(xs, ys, xq, yq).mean()

    @jax.jit
    def meta_step(params, state, *batch):
        loss, g = jax.value_and_grad(query_loss)(params, *batch)
        up, state = opt.update(g, state, params)
        return optax.apply_updates(params, up), state, loss

    held = sample_tasks(np.random.default_rng(99), 200, args.shots)
    before = jax.jit(lambda p: query_loss(p, *held, steps=0))
    after = jax.jit(lambda p: query_loss(p, *held, steps=5))
    print(f"start: no adaptation {before(params):.3f}, 5 steps {after(params):.3f}")
    for it in range(1, args.iters + 1):
        params, state, loss = meta_step(params, state, *sample_tasks(rng, args.tasks, args.shots))
        if it % 500 == 0:
            print(f"iter {it} meta loss {loss:.3f} held-out: no adaptation {before(params):.3f}, 5 steps {after(params):.3f}")


if __name__ == "__main__":
    main()
