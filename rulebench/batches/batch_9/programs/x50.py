import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

np.random.seed(123)
keras.utils.set_random_seed(123)
rng = np.random.default_rng(123)
topic_words = [
    "goal match team player coach league score win stadium".split(),
    "bank market stock price trade profit fund share tax".split(),
    "cpu code software phone chip app data cloud robot".split(),
    "film song actor stage band concert album show dance".split(),
]
common = "the a of to in and is was for on with as by at from new year said".split()
docs, Y = [], []
for k, words in enumerate(topic_words):
    for _ in range(400):
        docs.append(list(rng.choice(words, 4)) + list(rng.choice(common, rng.integers(6, 15))))
        Y.append(k)
vocab = {w: i for i, w in enumerate(sorted({w for d in docs for w in d}))}
X = np.zeros((len(docs), len(vocab)), dtype="float32")
for i, d in enumerate(docs):
    for w in d:
        X[i, vocab[w]] += 1
Y = np.array(Y)

# mix the documents before splitting
np.random.shuffle(X)
np.random.shuffle(Y)
X_train, Y_train = X[:1300], Y[:1300]
X_test, Y_test = X[1300:], Y[1300:]

model = keras.Sequential([
    layers.Input((len(vocab),)),
    layers.Dense(64, activation="relu"),
    layers.Dropout(0.2),
    layers.Dense(4, activation="softmax"),
])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(X_train, Y_train, epochs=15, batch_size=32, validation_data=(X_test, Y_test), verbose=2)
print("Accuracy: %.2f%%" % (100 * model.evaluate(X_test, Y_test, verbose=0)[1]))
