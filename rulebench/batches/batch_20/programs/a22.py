"""Character-level GRU language model in flax."""
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

text = (
    "one two three four five six seven eight nine ten. "
    "ten nine eight seven six five four three two one. "
    "monday tuesday wednesday thursday friday saturday sunday. "
    "spring summer autumn winter. north east south west. "
) * 30
vocab = sorted(set(text))
stoi = {c: i for i, c in enumerate(vocab)}
data = np.array([stoi[c] for c in text])
SEQ, BATCH, STEPS = 40, 32, 400


class CharGRU(nn.Module):
    vocab: int
    hidden: int = 64

    @nn.compact
    def __call__(self, tokens):
        h = nn.Embed(self.vocab, 24)(tokens)
        h = nn.RNN(nn.GRUCell(self.hidden))(h)
        return nn.Dense(self.vocab)(h)


model = CharGRU(len(vocab))
params = model.init(jax.random.key(1), jnp.zeros((1, SEQ), jnp.int32))
tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(5e-3))
opt_state = tx.init(params)


def loss_fn(params, x, y):
    logits = model.apply(params, x)
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()


@jax.jit
def train_step(params, opt_state, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


rng = np.random.default_rng(1)
for i in range(1, STEPS + 1):
    s = rng.integers(0, len(data) - SEQ - 1, BATCH)
    x = np.stack([data[k:k + SEQ] for k in s])
    y = np.stack([data[k + 1:k + SEQ + 1] for k in s])
    params, opt_state, loss = train_step(params, opt_state, x, y)
    if i % 40 == 0:
        print(f"step {i} loss {float(loss):.4f} ppl {float(jnp.exp(loss)):.3f}")

apply = jax.jit(model.apply)
ids = [stoi[c] for c in text[:SEQ]]
for _ in range(60):
    logits = apply(params, np.array([ids[-SEQ:]]))
    ids.append(int(logits[0, -1].argmax()))
print("sample:", "".join(vocab[i] for i in ids[SEQ:]))
