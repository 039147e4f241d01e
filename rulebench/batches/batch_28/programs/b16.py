import os
os.environ["KERAS_BACKEND"] = "jax"
import random
import numpy as np
import keras
from keras import layers

# "sentiment" of short reviews: which side gets the last word; made-up vocabulary
SEED = 21
keras.utils.set_random_seed(SEED)
random.seed(21)
good = ["good", "fine", "great", "superb"]
bad = ["poor", "awful", "dull", "sad"]
fill = ["the", "film", "was", "plot", "and", "a", "actor", "of", "it", "scene"]


def review():
    n = random.randint(4, 14)
    words = [random.choice(fill) if random.random() < 0.6 else random.choice(good + bad) for _ in range(n)]
    words[0] = random.choice(good + bad)
    last = [w for w in words if w in good or w in bad][-1]
    return " ".join(words), int(last in good)


texts, labels = zip(*[review() for _ in range(3000)])
vocab = {w: i + 1 for i, w in enumerate(sorted(set(" ".join(texts).split())))}
MAXLEN = 100
seqs = [[vocab[w] for w in t.split()] for t in texts]
X = keras.utils.pad_sequences(seqs, maxlen=MAXLEN, padding="post", truncating="post")
y = np.array(labels)
X_train, y_train, X_test, y_test = X[:2400], y[:2400], X[2400:], y[2400:]

model = keras.Sequential([
    keras.Input((MAXLEN,), dtype="int32"),
    layers.Embedding(len(vocab) + 1, 16),
    layers.LSTM(24),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(loss="binary_crossentropy", optimizer=keras.optimizers.Adam(0.005), metrics=["accuracy"])
model.fit(X_train, y_train, batch_size=64, epochs=8, validation_split=0.1, verbose=2)
score = model.evaluate(X_test, y_test, verbose=0)
print("Test loss:", score[0])
print("Test accuracy:", score[1])
