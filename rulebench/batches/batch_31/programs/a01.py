"""Tag prediction for short support tickets (several tags may apply to one ticket)."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers

SEED = 11
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)

TAGS = ["billing", "login", "crash", "refund", "mobile", "api", "slow", "security"]
VOCAB, LEN, N = 400, 30, 5000
# each tag owns a few keywords, the rest of the vocabulary is chatter
keywords = {t: np.arange(10 + 12 * i, 22 + 12 * i) for i, t in enumerate(TAGS)}


def make_ticket():
    k = rng.choice([0, 1, 2, 3, 4], p=[0.1, 0.3, 0.3, 0.2, 0.1])
    tags = rng.choice(len(TAGS), size=k, replace=False)
    words = rng.integers(120, VOCAB, size=LEN)
    for t in tags:
        pos = rng.choice(LEN, size=3, replace=False)
        words[pos] = rng.choice(keywords[TAGS[t]], size=3)
    y = np.zeros(len(TAGS), "float32")
    y[tags] = 1.0
    return words, y


data = [make_ticket() for _ in range(N)]
X = np.stack([d[0] for d in data]).astype("int32")
Y = np.stack([d[1] for d in data])
x_train, y_train = X[:4000], Y[:4000]
x_test, y_test = X[4000:], Y[4000:]
print("train", x_train.shape, y_train.shape, "mean tags per ticket", y_train.sum(1).mean())

model = keras.Sequential([
    layers.Input((LEN,), dtype="int32"),
    layers.Embedding(VOCAB, 32),
    layers.Conv1D(48, 1, activation="relu"),
    layers.GlobalMaxPooling1D(),
    layers.Dropout(0.2),
    layers.Dense(32, activation="relu"),
    layers.Dense(len(TAGS), activation="softmax"),
])
model.compile(optimizer=keras.optimizers.Adam(2e-3),
              loss="categorical_crossentropy",
              metrics=["precision", "recall"])
model.fit(x_train, y_train, batch_size=64, epochs=12, validation_split=0.1, verbose=2)

pred = (model.predict(x_test, verbose=0) > 0.5).astype("float32")
tp = (pred * y_test).sum(0)
f1 = 2 * tp / np.maximum(pred.sum(0) + y_test.sum(0), 1)
for t, f in zip(TAGS, f1):
    print(f"{t:10s} f1 {f:.3f}")
print("macro F1 on test:", round(float(f1.mean()), 4),
      " exact match:", round(float((pred == y_test).all(1).mean()), 4))
