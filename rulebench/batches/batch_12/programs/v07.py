import argparse
import jax
import jax.numpy as jnp
import numpy as np
import optax


def init_params(key, sizes):
    params = []
    for k, (i, o) in zip(jax.random.split(key, len(sizes) - 1), zip(sizes[:-1], sizes[1:])):
        params.append({"w": jax.random.normal(k, (i, o)) * jnp.sqrt(2.0 / i), "b": jnp.zeros(o)})
    return params


def forward(params, x):
    for layer in params[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def loss_fn(params, x, y):
    return optax.softmax_cross_entropy_with_integer_labels(forward(params, x), y).mean()


def spirals(n, k=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    r = rng.uniform(0.1, 1, n)
    a = 4 * r + y * 2 * np.pi / k + rng.normal(0, 0.1, n)
    return np.stack([r * np.cos(a), r * np.sin(a)], 1).astype("float32") * 2, y


def make_step(opt):
    @jax.jit
    def step(params, opt_state, x, y):
        loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
        updates, new_state = opt.update(grads, opt_state, params)
        params = optax.apply_updates(params, updates)
        return params, opt_state, loss
    return step


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=1500)
    p.add_argument("--batch", type=int, default=64)
    args = p.parse_args()
    x, y = spirals(2000)
    xt, yt = spirals(1000, seed=1)
    sched = optax.warmup_cosine_decay_schedule(1e-5, 5e-3, 100, args.steps)
    opt = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(sched))
    params = init_params(jax.random.PRNGKey(0), [2, 64, 64, 3])
    state = opt.init(params)
    step = make_step(opt)
    rng = np.random.default_rng(0)
    for i in range(args.steps):
        b = rng.integers(0, len(x), args.batch)
        params, state, loss = step(params, state, x[b], y[b])
        if i % 150 == 0:
            print(i, float(loss))
    acc = (forward(params, xt).argmax(1) == yt).mean()
    print("test accuracy", float(acc))


if __name__ == "__main__":
    main()
