"""Sentiment-like classification of short word-id sequences."""
import os
os.environ["KERAS_BACKEND"] = "jax"

import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(9)
PAD = 0
VOCAB, MAXLEN = 200, 24


class ReviewData:
    """Reviews with positive / negative words; 'not' flips the following word."""

    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.texts, self.labels = [], []
        for _ in range(n):
            k = rng.integers(5, MAXLEN + 1)
            words = rng.integers(40, VOCAB, k)
            label = int(rng.integers(0, 2))
            for p in range(1, k, 3):
                sign = label if rng.random() < 0.85 else 1 - label
                if rng.random() < 0.2:
                    words[p - 1] = 2
                    sign = 1 - sign
                words[p] = rng.integers(3, 20) if sign else rng.integers(20, 37)
            self.texts.append(words)
            self.labels.append(label)

    def arrays(self):
        x = keras.utils.pad_sequences(self.texts, maxlen=MAXLEN, padding="post", value=PAD)
        return x, np.array(self.labels, "int32")


train_x, train_y = ReviewData(4000, 1).arrays()
test_x, test_y = ReviewData(800, 2).arrays()

model = keras.Sequential([
    keras.Input((MAXLEN,), dtype="int32"),
    layers.Embedding(VOCAB, 16, mask_zero=True),
    layers.Bidirectional(layers.GRU(16)),
    layers.Dropout(0.3),
    layers.Dense(2, activation="softmax"),
])
model.compile("adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
stop = keras.callbacks.EarlyStopping(monitor="val_loss", patience=3, restore_best_weights=True)
model.fit(train_x, train_y, validation_split=0.15, epochs=8, batch_size=64, callbacks=[stop], verbose=2)
print("test:", dict(zip(["loss", "accuracy"], model.evaluate(test_x, test_y, verbose=0))))
