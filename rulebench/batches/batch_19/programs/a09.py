from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn


@dataclass
class Config:
    ctx: int = 24
    dim: int = 48
    heads: int = 4
    layers: int = 2
    batch: int = 32
    steps: int = 300
    lr: float = 3e-3
    seed: int = 79


cfg = Config()
rng = np.random.default_rng(cfg.seed)

# a little grammar: subject verb object, adjectives agree with the noun
NOUNS = {"cat": "soft", "dog": "loud", "bird": "small", "fish": "wet"}
VERBS = ["sees", "likes", "follows"]


def sentence():
    s, o = rng.choice(list(NOUNS), 2)
    return f"the {NOUNS[s]} {s} {rng.choice(VERBS)} the {NOUNS[o]} {o}. "


text = "".join(sentence() for _ in range(1500))
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
ids = np.array([stoi[c] for c in text], dtype="int32")
split = int(0.9 * len(ids))
train_ids, val_ids = ids[:split], ids[split:]


class Block(nn.Module):
    dim: int
    heads: int

    @nn.compact
    def __call__(self, x):
        mask = nn.make_causal_mask(jnp.ones(x.shape[:2]))
        h = nn.LayerNorm()(x)
        x = x + nn.MultiHeadDotProductAttention(num_heads=self.heads)(h, h, mask=mask)
        h = nn.LayerNorm()(x)
        return x + nn.Dense(self.dim)(nn.gelu(nn.Dense(4 * self.dim)(h)))


class CharLM(nn.Module):
    vocab: int
    cfg: Config

    @nn.compact
    def __call__(self, idx):
        x = nn.Embed(self.vocab, self.cfg.dim)(idx)
        x = x + nn.Embed(self.cfg.ctx, self.cfg.dim)(jnp.arange(idx.shape[1]))
        for _ in range(self.cfg.layers):
            x = Block(self.cfg.dim, self.cfg.heads)(x)
        return nn.Dense(self.vocab)(nn.LayerNorm()(x))


model = CharLM(len(chars), cfg)
params = model.init(jax.random.PRNGKey(cfg.seed), jnp.zeros((1, cfg.ctx), jnp.int32))
schedule = optax.warmup_cosine_decay_schedule(0.0, cfg.lr, 50, cfg.steps, 0.1 * cfg.lr)
tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule, weight_decay=0.01))
opt_state = tx.init(params)


def get_batch(source):
    starts = rng.integers(0, len(source) - cfg.ctx - 1, cfg.batch)
    x = np.stack([source[s : s + cfg.ctx] for s in starts])
    y = np.stack([source[s + 1 : s + cfg.ctx + 1] for s in starts])
    return x, y


def loss_fn(params, x, y):
    logits = model.apply(params, x)
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()


@jax.jit
def train_step(params, opt_state, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


eval_loss = jax.jit(loss_fn)
for step in range(1, cfg.steps + 1):
    params, opt_state, loss = train_step(params, opt_state, *get_batch(train_ids))
    if step % 50 == 0:
        val = np.mean([float(eval_loss(params, *get_batch(val_ids))) for _ in range(5)])
        print(f"step {step:4d}  train {float(loss):.4f}  val {val:.4f}")


@jax.jit
def next_char(params, window, pos):
    return model.apply(params, window[None])[0, pos].argmax()


out = [stoi[c] for c in "the "]
for _ in range(80):
    window = out[-cfg.ctx :]
    pos = len(window) - 1
    padded = np.zeros(cfg.ctx, dtype="int32")
    padded[: len(window)] = window
    out.append(int(next_char(params, jnp.asarray(padded), pos)))
print("".join(chars[i] for i in out))
