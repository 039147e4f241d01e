"""Second-order MAML for sinusoid regression in JAX (vmapped tasks)."""
import argparse

import jax
import jax.numpy as jnp
import optax


def init(key, sizes=(1, 40, 40, 1)):
    params = []
    for k, (a, b) in zip(jax.random.split(key, len(sizes) - 1), zip(sizes[:-1], sizes[1:])):
        params.append((jax.random.normal(k, (a, b)) * jnp.sqrt(2.0 / a), jnp.zeros(b)))
    return params


def net(params, x):
    for w, b in params[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = params[-1]
    return x @ w + b


def mse(params, x, y):
    return jnp.mean((net(params, x) - y) ** 2)


def sample_task(key, k_shot):
    ka, kp, kx = jax.random.split(key, 3)
    amp = jax.random.uniform(ka, minval=0.5, maxval=3.0)
    phase = jax.random.uniform(kp, maxval=jnp.pi)
    x = jax.random.uniform(kx, (2 * k_shot, 1), minval=-4.0, maxval=4.0)
    y = amp * jnp.sin(x + phase)
    return (x[:k_shot], y[:k_shot]), (x[k_shot:], y[k_shot:])


def adapt(params, support, inner_lr, n_steps):
    for _ in range(n_steps):
        g = jax.grad(mse)(params, *support)
        params = jax.tree.map(lambda p, d: p - inner_lr * d, params, g)
    return params


def meta_loss(params, tasks, inner_lr, n_steps):
    support, query = tasks
    per_task = jax.vmap(lambda s, q: mse(adapt(params, s, inner_lr, n_steps), *q))
    return per_task(support, query).mean()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--iters", type=int, default=2000)
    ap.add_argument("--tasks", type=int, default=16)
    ap.add_argument("--k-shot", type=int, default=10)
    ap.add_argument("--inner-lr", type=float, default=0.02)
    args = ap.parse_args()

    sample_many = jax.vmap(lambda k: sample_task(k, args.k_shot))
    opt = optax.chain(optax.clip_by_global_norm(10.0), optax.adam(1e-3))

    @jax.jit
    def step(params, state, key):
        tasks = sample_many(jax.random.split(key, args.tasks))
        loss, g = jax.value_and_grad(meta_loss)(params, tasks, args.inner_lr, 1)
        updates, state = opt.update(g, state)
        return optax.apply_updates(params, updates), state, loss

    key = jax.random.PRNGKey(7)
    key, k0, k_test = jax.random.split(key, 3)
    params = init(k0)
    state = opt.init(params)
    test_tasks = sample_many(jax.random.split(k_test, 200))
    evaluate = jax.jit(meta_loss, static_argnums=3)
    for it in range(args.iters):
        key, sub = jax.random.split(key)
        params, state, loss = step(params, state, sub)
        if (it + 1) % 500 == 0:
            before = evaluate(params, test_tasks, args.inner_lr, 0)
            one = evaluate(params, test_tasks, args.inner_lr, 1)
            five = evaluate(params, test_tasks, args.inner_lr, 5)
            print(f"iter {it + 1} train {float(loss):.3f} | test query mse: no steps {float(before):.3f}, 1 step {float(one):.3f}, 5 steps {float(five):.3f}")


if __name__ == "__main__":
    main()
