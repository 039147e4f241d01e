import jax
import jax.numpy as jnp
import optax
from flax import linen as nn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

X, y = load_digits(return_X_y=True)
Xtr, Xte, ytr, yte = train_test_split(X.astype("float32") / 16, y, test_size=0.3, random_state=3)
Xtr, Xte, ytr, yte = map(jnp.asarray, (Xtr, Xte, ytr, yte))


class Net(nn.Module):
    width: int
    depth: int

    @nn.compact
    def __call__(self, x):
        for _ in range(self.depth):
            x = nn.gelu(nn.Dense(self.width)(x))
        return nn.Dense(10)(x)


def fit(net, loss_fn, steps, lr, key, name):
    key, k = jax.random.split(key)
    params = net.init(k, Xtr[:1])
    tx = optax.chain(optax.clip_by_global_norm(1.0),
                     optax.adamw(optax.warmup_cosine_decay_schedule(0.0, lr, 50, steps), weight_decay=1e-3))
    state = tx.init(params)

    @jax.jit
    def step(params, state, key):
        idx = jax.random.randint(key, (64,), 0, len(Xtr))
        loss, g = jax.value_and_grad(loss_fn)(params, idx)
        up, state = tx.update(g, state, params)
        return optax.apply_updates(params, up), state, loss

    for i in range(steps):
        key, k = jax.random.split(key)
        params, state, loss = step(params, state, k)
        if i % 100 == 99:
            acc = (net.apply(params, Xte).argmax(-1) == yte).mean()
            print(f"{name} step {i+1} loss {loss:.4f} test acc {acc:.4f}")
    return params


k1, k2 = jax.random.split(jax.random.PRNGKey(42))
teacher, student = Net(256, 2), Net(12, 1)
t_params = fit(teacher, lambda p, i: optax.softmax_cross_entropy_with_integer_labels(
    teacher.apply(p, Xtr[i]), ytr[i]).mean(), 400, 2e-3, k1, "teacher")

T, ALPHA = 4.0, 0.8


def distill(p, i):
    t = jax.nn.softmax(jax.lax.stop_gradient(teacher.apply(t_params, Xtr[i])) / T)
    s = student.apply(p, Xtr[i])
    soft = optax.softmax_cross_entropy(s / T, t).mean() * T * T
    hard = optax.softmax_cross_entropy_with_integer_labels(s, ytr[i]).mean()
    return ALPHA * soft + (1 - ALPHA) * hard


fit(student, distill, 800, 1e-2, k2, "student")
