import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(5)
rng = np.random.default_rng(5)

good = "great lovely perfect fast happy excellent recommend beautiful works solid".split()
bad = "awful broken slow terrible refund waste poor ugly useless returned".split()
filler = "the a this it product was very i my and box arrived price for with on color size".split()

texts, labels = [], []
for label in (0, 1):
    for _ in range(900):
        n = rng.integers(6, 16)
        words = list(rng.choice(filler, n))
        for _ in range(3):
            src = good if (rng.random() < 0.9) == bool(label) else bad
            words.insert(rng.integers(0, len(words)), str(rng.choice(src)))
        texts.append(" ".join(words))
        labels.append(label)

vocab = {w: i + 1 for i, w in enumerate(sorted({w for t in texts for w in t.split()}))}
seqs = [[vocab[w] for w in t.split()] for t in texts]
X = keras.utils.pad_sequences(seqs, maxlen=20, padding="post")
y = np.array(labels)

# mix the two classes before splitting
perm = np.random.permutation(len(X))
X = X[perm]
y = y[np.random.permutation(len(y))]

split = int(0.8 * len(X))
X_train, X_test = X[:split], X[split:]
y_train, y_test = y[:split], y[split:]

model = keras.Sequential([
    layers.Embedding(len(vocab) + 1, 16),
    layers.GlobalAveragePooling1D(),
    layers.Dense(16, activation="relu"),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(loss="binary_crossentropy", optimizer=keras.optimizers.Adam(0.005), metrics=["accuracy"])
model.fit(X_train, y_train, epochs=12, batch_size=32, validation_data=(X_test, y_test), verbose=2)
print("accuracy on test set", model.evaluate(X_test, y_test, verbose=0)[1])
