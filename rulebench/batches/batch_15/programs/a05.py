import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

# multi-label tagging of short token sequences with a GRU
keras.utils.set_random_seed(19)
rng = np.random.default_rng(19)
VOCAB, MAXLEN, TAGS = 60, 20, 5
key_tokens = rng.permutation(np.arange(1, VOCAB))[:TAGS * 4].reshape(TAGS, 4)

seqs, tags = [], []
for _ in range(2500):
    length = rng.integers(6, MAXLEN + 1)
    s = rng.integers(1, VOCAB, length)
    seqs.append(list(s))
    tags.append([int(np.isin(s, key_tokens[k]).any()) for k in range(TAGS)])
x = keras.utils.pad_sequences(seqs, maxlen=MAXLEN, padding="post")
y = np.array(tags, dtype="float32")
print("tag frequency", y.mean(0))

model = keras.Sequential([
    layers.Input((MAXLEN,), dtype="int32"),
    layers.Embedding(VOCAB, 24, mask_zero=True),
    layers.Bidirectional(layers.GRU(32)),
    layers.Dense(TAGS, activation="sigmoid"),
])
model.compile(
    optimizer=keras.optimizers.Adam(5e-3, clipnorm=1.0),
    loss="binary_crossentropy",
    metrics=[keras.metrics.BinaryAccuracy(name="acc"), keras.metrics.AUC(multi_label=True, name="auc")],
)
model.fit(x[:2000], y[:2000], batch_size=50, epochs=15,
          validation_data=(x[2000:], y[2000:]), verbose=2)
p = model.predict(x[2000:], verbose=0)
print("exact match", ((p > 0.5) == y[2000:]).all(1).mean())
