import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(106)
rng = np.random.default_rng(106)
# intents of short commands
templates = {
    0: ["turn on the {}", "switch on {} please", "{} on now", "can you turn the {} on"],
    1: ["turn off the {}", "switch off {} please", "{} off now", "can you turn the {} off"],
    2: ["is the {} running", "what about the {}", "tell me about {} status", "how is the {} doing"],
}
things = ["lamp", "heater", "fan", "radio", "oven", "alarm", "kitchen light", "door light", "old tv"]
texts, y = [], []
for _ in range(1200):
    k = rng.integers(0, 3)
    texts.append(rng.choice(templates[k]).format(rng.choice(things)))
    y.append(k)
y = np.array(y)
words = sorted({w for t in texts for w in t.split()})
index = {w: i + 1 for i, w in enumerate(words)}
X = keras.utils.pad_sequences([[index[w] for w in t.split()] for t in texts], maxlen=20, padding="post")

model = keras.Sequential([
    layers.Input((20,), dtype="int32"),
    layers.Embedding(len(words) + 1, 16, mask_zero=True),
    layers.Bidirectional(layers.LSTM(16)),
    layers.Dense(3, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(X[:1000], y[:1000], epochs=6, batch_size=32, validation_data=(X[1000:], y[1000:]), verbose=2)
print("accuracy on unseen commands", model.evaluate(X[1000:], y[1000:], verbose=0)[1])
