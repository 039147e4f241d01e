import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

# name -> language, characters hashed to ids by my own tokenizer
rng = np.random.default_rng(4)
syll = {0: ["ko", "mi", "ta", "shi", "ru", "na"], 1: ["sch", "mann", "berg", "er", "wald", "ul"],
        2: ["ova", "ski", "dim", "ev", "bor", "iv"]}
names, lang = [], []
for _ in range(3000):
    l = int(rng.integers(0, 3))
    names.append("".join(rng.choice(syll[l], 3)))
    lang.append(l)
ids = [[ord(c) - ord("a") + 1 for c in n] for n in names]
X = keras.utils.pad_sequences(ids, maxlen=12)
y = np.array(lang)
VOCAB = 20
keras.utils.set_random_seed(4)
model = keras.Sequential([
    keras.Input((12,), dtype="int32"),
    layers.Embedding(VOCAB, 16),
    layers.Conv1D(32, 3, activation="relu"),
    layers.GlobalMaxPooling1D(),
    layers.Dense(3, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(X[:2500], y[:2500], epochs=8, batch_size=50, validation_data=(X[2500:], y[2500:]), verbose=2)
