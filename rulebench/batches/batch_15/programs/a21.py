import os
os.environ["KERAS_BACKEND"] = "torch"
import random
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(42)

good = "great lovely superb wonderful enjoyable brilliant charming fun".split()
bad = "awful boring dull terrible poor weak annoying messy".split()
neutral = ("the a movie film plot actor scene was is this that with and of story "
           "camera music in it very quite director time").split()


def make_review(label):
    n = random.randint(8, 24)
    words = []
    for _ in range(n):
        r = random.random()
        if r < 0.16:
            words.append(random.choice(good if label else bad))
        elif r < 0.22:
            words.append(random.choice(bad if label else good))
        else:
            words.append(random.choice(neutral))
    return " ".join(words)


labels = np.array([random.randint(0, 1) for _ in range(2400)])
texts = [make_review(l) for l in labels]

vocab = {w: i + 1 for i, w in enumerate(sorted(set(good + bad + neutral)))}
maxlen = 24
seqs = [[vocab[w] for w in t.split()] for t in texts]
data = keras.utils.pad_sequences(seqs, maxlen=maxlen, padding="post")

x_train, y_train = data[:2000], labels[:2000]
x_test, y_test = data[2000:], labels[2000:]

model = keras.Sequential([
    layers.Embedding(len(vocab) + 1, 16),
    layers.Conv1D(32, 3, activation="relu"),
    layers.GlobalMaxPooling1D(),
    layers.Dense(16, activation="relu"),
    layers.Dense(1, activation="softmax"),
])
model.compile(loss="binary_crossentropy", optimizer="adam", metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=32, epochs=8,
          validation_data=(x_test, y_test), verbose=2)
print(model.predict(x_test[:8], verbose=0).ravel(), y_test[:8])
print("accuracy", model.evaluate(x_test, y_test, verbose=0)[1])
