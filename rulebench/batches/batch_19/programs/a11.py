import os
os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(19)
rng = np.random.default_rng(19)

# Support tickets routed to four teams
TOPICS = {
    "billing": ["invoice", "charge", "refund", "card", "payment"],
    "login": ["password", "account", "locked", "email", "reset"],
    "delivery": ["parcel", "courier", "late", "address", "tracking"],
    "hardware": ["screen", "battery", "charger", "keyboard", "fan"],
}
COMMON = "i my the is was hello please help with since yesterday today cannot does not work again thanks need a new".split()
NAMES = list(TOPICS)


def make_ticket():
    topic = int(rng.integers(0, 4))
    n = int(rng.integers(6, 18))
    words = list(rng.choice(COMMON, n))
    for _ in range(int(rng.integers(2, 4))):
        words.insert(int(rng.integers(0, len(words))), rng.choice(TOPICS[NAMES[topic]]))
    if rng.random() < 0.4:
        other = NAMES[int(rng.integers(0, 4))]
        words.insert(int(rng.integers(0, len(words))), rng.choice(TOPICS[other]))
    return words, topic


tickets = [make_ticket() for _ in range(2400)]
train, val, test = tickets[:1600], tickets[1600:2000], tickets[2000:]

PAD, UNK = 0, 1
vocab = {}
for words, _ in train:
    for w in words:
        vocab.setdefault(str(w), len(vocab) + 2)


def encode(rows, maxlen=24):
    x = np.zeros((len(rows), maxlen), dtype="int32")
    for i, (words, _) in enumerate(rows):
        ids = [vocab.get(str(w), UNK) for w in words][:maxlen]
        x[i, : len(ids)] = ids
    return x, np.array([t for _, t in rows])


x_train, y_train = encode(train)
x_val, y_val = encode(val)
x_test, y_test = encode(test)

inp = keras.Input((24,), dtype="int32")
e = layers.Embedding(len(vocab) + 2, 24)(inp)
e = layers.SpatialDropout1D(0.1)(e)
branches = []
for k in (1, 2, 3):
    c = layers.Conv1D(24, k, activation="relu", padding="same")(e)
    branches.append(layers.GlobalMaxPooling1D()(c))
h = layers.Concatenate()(branches)
h = layers.Dropout(0.3)(h)
model = keras.Model(inp, layers.Dense(len(NAMES), activation="softmax")(h))
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])

stop = keras.callbacks.EarlyStopping(monitor="val_loss", patience=3, restore_best_weights=True)
model.fit(x_train, y_train, validation_data=(x_val, y_val), epochs=12, batch_size=32, callbacks=[stop], verbose=2)

pred = model.predict(x_test, verbose=0).argmax(-1)
print(f"test accuracy {np.mean(pred == y_test):.4f}")
for i, name in enumerate(NAMES):
    print(f"  {name:9s} recall {np.mean(pred[y_test == i] == i):.3f}")
