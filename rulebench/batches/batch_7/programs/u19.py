import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(60)
rng = np.random.default_rng(60)
GOOD = ["great", "lovely", "superb", "fine", "enjoyed"]
BAD = ["awful", "boring", "weak", "dull", "hated"]
FILL = ["the", "film", "was", "a", "bit", "and", "plot", "actor", "scene", "then", "we", "saw", "music", "story"]
vocab = {w: i + 2 for i, w in enumerate(GOOD + BAD + FILL)}     # 0 pad, 1 unknown


def review():
    lab = int(rng.integers(0, 2))
    ws = list(rng.choice(FILL, rng.integers(4, 20)))
    for _ in range(rng.integers(1, 4)):
        ws.insert(int(rng.integers(0, len(ws))), rng.choice(GOOD if lab else BAD))
    return [vocab.get(w, 1) for w in ws], lab


docs, y = zip(*[review() for _ in range(1500)])
y = np.array(y)
x = keras.utils.pad_sequences(docs, maxlen=24, padding="post", truncating="post")

model = keras.Sequential([
    keras.Input((24,), dtype="int32"),
    layers.Embedding(len(vocab) + 2, 16, mask_zero=True),
    layers.LSTM(24),
    layers.Dense(1, activation="sigmoid"),
])
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
model.fit(x[:1200], y[:1200], epochs=8, batch_size=32, validation_data=(x[1200:], y[1200:]), verbose=2)
print(model.evaluate(x[1200:], y[1200:], verbose=0))
