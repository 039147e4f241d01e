"""Physics-informed network for the heat equation u_t = k u_xx on [0,1] x [0,1] in JAX.

u(0,x) = sin(pi x), u(t,0) = u(t,1) = 0, exact solution exp(-k pi^2 t) sin(pi x).
"""
import jax
import jax.numpy as jnp
import numpy as np
import optax

K = 0.1


def init_params(key, sizes):
    keys = jax.random.split(key, len(sizes) - 1)
    return [(jax.random.normal(k, (m, n)) / jnp.sqrt(m), jnp.zeros(n)) for k, m, n in zip(keys, sizes[:-1], sizes[1:])]


def u(params, t, x):
    h = jnp.stack([t, x])
    for W, b in params[:-1]:
        h = jnp.tanh(h @ W + b)
    W, b = params[-1]
    return (h @ W + b)[0]


def residual(params, t, x):
    u_t = jax.grad(u, argnums=1)(params, t, x)
    u_xx = jax.grad(jax.grad(u, argnums=2), argnums=1)(params, t, x)
    return u_t - K * u_xx


v_u = jax.vmap(u, in_axes=(None, 0, 0))
v_res = jax.vmap(residual, in_axes=(None, 0, 0))


def loss_fn(params, batch):
    t, x, x0, tb = batch
    pde = jnp.mean(v_res(params, t, x) ** 2)
    ic = jnp.mean((v_u(params, jnp.zeros_like(x0), x0) - jnp.sin(jnp.pi * x0)) ** 2)
    bc = jnp.mean(v_u(params, tb, jnp.zeros_like(tb)) ** 2) + jnp.mean(v_u(params, tb, jnp.ones_like(tb)) ** 2)
    return pde + 10.0 * (ic + bc), (pde, ic, bc)


def main():
    params = init_params(jax.random.PRNGKey(0), [2, 32, 32, 1])
    sched = optax.cosine_decay_schedule(5e-3, 3000)
    tx = optax.adam(sched)
    state = tx.init(params)

    @jax.jit
    def step(params, state, key):
        k1, k2, k3, k4 = jax.random.split(key, 4)
        batch = (jax.random.uniform(k1, (128,)), jax.random.uniform(k2, (128,)),
                 jax.random.uniform(k3, (64,)), jax.random.uniform(k4, (64,)))
        (loss, parts), g = jax.value_and_grad(loss_fn, has_aux=True)(params, batch)
        up, state = tx.update(g, state, params)
        return optax.apply_updates(params, up), state, loss, parts

    key = jax.random.PRNGKey(1)
    for it in range(3000):
        key, sub = jax.random.split(key)
        params, state, loss, parts = step(params, state, sub)
        if (it + 1) % 500 == 0:
            print(it + 1, "loss %.5f" % float(loss), "pde %.5f ic %.5f bc %.5f" % tuple(float(p) for p in parts))

    tt, xx = np.meshgrid(np.linspace(0, 1, 41), np.linspace(0, 1, 41))
    pred = np.asarray(v_u(params, jnp.asarray(tt.ravel()), jnp.asarray(xx.ravel())))
    exact = np.exp(-K * np.pi ** 2 * tt.ravel()) * np.sin(np.pi * xx.ravel())
    print("relative L2 error", np.linalg.norm(pred - exact) / np.linalg.norm(exact))


if __name__ == "__main__":
    main()
