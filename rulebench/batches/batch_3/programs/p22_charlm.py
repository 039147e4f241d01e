"""Character model with a GRU in keras/jax. The optimizer keeps an average of the weights (use_ema)
and collects the gradient of 2 batches before each update."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

SEED = 99
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)

names = ["anna", "bob", "carl", "dora", "emil"]
verbs = ["likes", "sees", "paints", "sells", "buys"]
things = ["apples", "boats", "clouds", "doors", "eggs", "flowers"]
text = ""
while len(text) < 30000:
    n = rng.integers(len(names))
    k = int(rng.integers(2, 9))
    text += f"{names[n]} {verbs[(n + k) % 5]} {k} {things[rng.integers(6)]}. "

chars = sorted(set(text))
ids = np.array([chars.index(c) for c in text])
T = 32
starts = np.arange(0, len(ids) - T - 1, 8)
X = np.stack([ids[s:s + T] for s in starts])
Y = np.stack([ids[s + 1:s + T + 1] for s in starts])
n_tr = int(0.9 * len(X))
X_tr, Y_tr, X_va, Y_va = X[:n_tr], Y[:n_tr], X[n_tr + 4:], Y[n_tr + 4:]

model = keras.Sequential([
    layers.Input((T,), dtype="int32"),
    layers.Embedding(len(chars), 24),
    layers.GRU(96, return_sequences=True),
    layers.Dense(len(chars)),
])
model.compile(
    optimizer=keras.optimizers.Adam(1e-2, global_clipnorm=1.0, use_ema=True, ema_momentum=0.95,
                                    gradient_accumulation_steps=2),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["sparse_categorical_accuracy"],
)
h = model.fit(X_tr, Y_tr, batch_size=32, epochs=12, validation_data=(X_va, Y_va), verbose=2)
print("bits per char (validation): %.3f" % (h.history["val_loss"][-1] / np.log(2)))

seed = ids[:T].tolist()
for _ in range(80):
    logits = model.predict(np.array([seed[-T:]]), verbose=0)[0, -1]
    seed.append(int(logits.argmax()))
print("".join(chars[i] for i in seed))
