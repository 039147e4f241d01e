"""Letter-sequence language identification with a bag of n-grams and a small net."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.feature_extraction.text import CountVectorizer

keras.utils.set_random_seed(18)
LANGS = 6
EPOCHS = 12
BATCH = 32


def make_languages(rng):
    letters = "abcdefghijklmnop"
    base = rng.dirichlet(np.ones(len(letters)) * 0.8, len(letters))
    out = []
    for _ in range(LANGS):
        own = rng.dirichlet(np.ones(len(letters)) * 0.5, len(letters))
        out.append(0.6 * base + 0.4 * own)
    return letters, out


def speak(letters, table, length, rng):
    i = rng.integers(len(letters))
    s = []
    for _ in range(length):
        s.append(letters[i])
        i = rng.choice(len(letters), p=table[i])
    return "".join(s)


rng = np.random.default_rng(0)
letters, tables = make_languages(rng)
labels = rng.integers(0, LANGS, 2400)
texts = [speak(letters, tables[k], 30, rng) for k in labels]

vec = CountVectorizer(analyzer="char", ngram_range=(1, 2), max_features=250, binary=True)
X_train = vec.fit_transform(texts[:1800]).toarray().astype("float32")
X_test = vec.transform(texts[1800:]).toarray().astype("float32")
y_train, y_test = labels[:1800], labels[1800:]
print("features", X_train.shape)

model = keras.Sequential([
    keras.Input((X_train.shape[1],)),
    layers.Dense(96, activation="relu"),
    layers.Dropout(0.3),
    layers.Dense(48, activation="relu"),
    layers.Dense(LANGS, activation="softmax"),
])

# learning rate decay
lr = keras.optimizers.schedules.ExponentialDecay(
    initial_learning_rate=2e-3, decay_steps=1, decay_rate=0.9)
model.compile(optimizer=keras.optimizers.Adam(lr),
              loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(X_train, y_train, batch_size=BATCH, epochs=EPOCHS,
          validation_data=(X_test, y_test), verbose=2)

loss, acc = model.evaluate(X_test, y_test, verbose=0)
print(f"test loss {loss:.4f} accuracy {acc:.4f}")
pred = model.predict(X_test, verbose=0).argmax(1)
for k in range(LANGS):
    print("language", k, "recall", round(float(np.mean(pred[y_test == k] == k)), 3))
