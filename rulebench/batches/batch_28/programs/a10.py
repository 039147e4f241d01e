# Physics-informed net for the 1-D heat equation u_t = k u_xx on [0,1]x[0,0.5]
# u(x,0) = sin(pi x) + 0.5 sin(3 pi x), u(0,t) = u(1,t) = 0. Written with flax nnx.
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

SEED = 6
K = 0.1


class MLP(nnx.Module):
    def __init__(self, width, rngs):
        self.l1 = nnx.Linear(2, width, rngs=rngs)
        self.l2 = nnx.Linear(width, width, rngs=rngs)
        self.l3 = nnx.Linear(width, width, rngs=rngs)
        self.o = nnx.Linear(width, 1, rngs=rngs)

    def __call__(self, z):
        z = jnp.tanh(self.l1(z))
        z = jnp.tanh(self.l2(z))
        z = jnp.tanh(self.l3(z))
        return self.o(z)[..., 0]


def exact(x, t):
    return (jnp.sin(jnp.pi * x) * jnp.exp(-K * jnp.pi ** 2 * t)
            + 0.5 * jnp.sin(3 * jnp.pi * x) * jnp.exp(-9 * K * jnp.pi ** 2 * t))


rng = np.random.default_rng(SEED)
inside = jnp.asarray(rng.uniform([0, 0], [1, 0.5], size=(512, 2)), jnp.float32)
x0 = jnp.linspace(0, 1, 64)
start = jnp.stack([x0, jnp.zeros_like(x0)], 1)
tb = jnp.linspace(0, 0.5, 32)
edge = jnp.concatenate([jnp.stack([jnp.zeros_like(tb), tb], 1), jnp.stack([jnp.ones_like(tb), tb], 1)])

model = MLP(32, nnx.Rngs(SEED))
graph, params = nnx.split(model, nnx.Param)
steps = 3000
tx = optax.adam(optax.cosine_decay_schedule(3e-3, steps))
opt_state = tx.init(params)


def loss_fn(params):
    net = nnx.merge(graph, params)

    def u(x, t):
        return net(jnp.stack([x, t]))

    u_t = jax.vmap(jax.grad(u, 1))(inside[:, 0], inside[:, 1])
    u_xx = jax.vmap(jax.grad(jax.grad(u, 0), 0))(inside[:, 0], inside[:, 1])
    pde = jnp.mean((u_t - K * u_xx) ** 2)
    ic = jnp.mean((net(start) - exact(start[:, 0], 0.0)) ** 2)
    bc = jnp.mean(net(edge) ** 2)
    return pde + 20 * ic + 20 * bc, (pde, ic, bc)


@jax.jit
def step(params, opt_state):
    (loss, parts), g = jax.value_and_grad(loss_fn, has_aux=True)(params)
    up, opt_state = tx.update(g, opt_state, params)
    return optax.apply_updates(params, up), opt_state, loss, parts


for i in range(steps):
    params, opt_state, loss, parts = step(params, opt_state)
    if i % 500 == 0 or i == steps - 1:
        print(f"{i:5d} total {float(loss):.5f}  pde {float(parts[0]):.5f}  ic {float(parts[1]):.6f}  bc {float(parts[2]):.6f}")

net = nnx.merge(graph, params)
gx, gt = jnp.meshgrid(jnp.linspace(0, 1, 50), jnp.linspace(0, 0.5, 50))
pred = net(jnp.stack([gx.ravel(), gt.ravel()], 1))
ref = exact(gx.ravel(), gt.ravel())
print("relative L2 error against the exact solution:", float(jnp.linalg.norm(pred - ref) / jnp.linalg.norm(ref)))
