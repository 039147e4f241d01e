import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(14)

# Each message contains an order; the label says whether it was cancelled later on.
fillers = "please i we the and my about team hello thanks could you now it this that".split()
order, cancel, restore = "order", "cancel", "restore"


def make_message(rng):
    n = int(rng.integers(4, 16))
    words = list(rng.choice(fillers, n))
    actions = rng.choice([cancel, restore], size=int(rng.integers(1, 4)))
    positions = np.sort(rng.integers(0, len(words), size=len(actions)))
    for shift, (p, a) in enumerate(zip(positions, actions)):
        words.insert(int(p) + shift, str(a))
    words.insert(0, order)
    return words, int(actions[-1] == cancel)


rng = np.random.default_rng(14)
messages, labels = zip(*(make_message(rng) for _ in range(2000)))
vocab = {w: i + 1 for i, w in enumerate([order, cancel, restore] + fillers)}
x = keras.utils.pad_sequences([[vocab[w] for w in m] for m in messages], maxlen=20, padding="post")
y = np.array(labels, dtype="float32")
x_train, y_train = x[:1600], y[:1600]
x_test, y_test = x[1600:], y[1600:]

model = keras.Sequential([
    keras.Input((20,), dtype="int32"),
    layers.Embedding(len(vocab) + 1, 16, mask_zero=True),
    layers.GRU(24),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(keras.optimizers.Adam(8e-3), "binary_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, validation_split=0.1, epochs=8, batch_size=64, verbose=2)

loss, acc = model.evaluate(x_test, y_test, verbose=0)
print(f"test loss {loss:.4f} accuracy {acc:.4f}")
for text in ["order cancel please restore it", "order restore it now cancel that thanks"]:
    ids = keras.utils.pad_sequences([[vocab[w] for w in text.split()]], maxlen=20, padding="post")
    print(text, "->", float(model.predict(ids, verbose=0)[0, 0]))
