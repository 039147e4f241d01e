"""Toy sentiment model: template reviews, LSTM with masking, two outputs (polarity and stars)."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers

SEED = 1
rng = np.random.default_rng(SEED)
keras.utils.set_random_seed(SEED)

GOOD = ["great", "lovely", "superb", "fun", "brilliant", "warm"]
BAD = ["dull", "awful", "boring", "weak", "silly", "cold"]
FILL = ["the", "film", "plot", "was", "and", "actor", "a", "scene", "music", "very", "quite", "it"]


def review():
    words, score = [], 0
    for _ in range(rng.integers(2, 5)):
        words += list(rng.choice(FILL, rng.integers(1, 4)))
        pos = rng.random() < 0.5
        if rng.random() < 0.3:
            words.append("not")
            score += -1 if pos else 1
        else:
            score += 1 if pos else -1
        words.append(str(rng.choice(GOOD if pos else BAD)))
    return " ".join(words), score


data = [review() for _ in range(4000)]
data = [(t, s) for t, s in data if s != 0]
vocab = {w: i + 1 for i, w in enumerate(["not"] + GOOD + BAD + FILL)}
ids = [[vocab[w] for w in t.split()] for t, _ in data]
X = keras.utils.pad_sequences(ids, maxlen=20, padding="post", truncating="post")
score = np.array([s for _, s in data], "float32")
polarity = (score > 0).astype("float32")
n = int(0.8 * len(X))

tok = keras.Input((20,), dtype="int32")
h = layers.Embedding(len(vocab) + 1, 24, mask_zero=True)(tok)
h = layers.LSTM(32)(h)
h = layers.Dropout(0.2)(h)
out_p = layers.Dense(1, activation="sigmoid", name="polarity")(h)
out_s = layers.Dense(1, name="stars")(h)
model = keras.Model(tok, {"polarity": out_p, "stars": out_s})
model.compile(
    optimizer=keras.optimizers.Adam(5e-3),
    loss={"polarity": "binary_crossentropy", "stars": "mse"},
    loss_weights={"polarity": 1.0, "stars": 0.2},
    metrics={"polarity": ["accuracy"], "stars": ["mae"]},
)
stop = keras.callbacks.EarlyStopping(monitor="val_loss", patience=3, restore_best_weights=True)
h = model.fit(X[:n], {"polarity": polarity[:n], "stars": score[:n]}, batch_size=64, epochs=15, verbose=2,
              validation_data=(X[n:], {"polarity": polarity[n:], "stars": score[n:]}), callbacks=[stop])
print(model.evaluate(X[n:], {"polarity": polarity[n:], "stars": score[n:]}, verbose=0, return_dict=True))
