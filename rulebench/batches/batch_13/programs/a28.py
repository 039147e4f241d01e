import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import random
import numpy as np
import keras
from keras import layers

random.seed(5)
np.random.seed(5)
keras.utils.set_random_seed(5)

GOOD = "great lovely superb charming brilliant delightful moving funny".split()
BAD = "awful boring dull terrible weak messy annoying lazy".split()
FILL = ("the film plot actor scene was and with a of in very this story director music "
        "end start two hours people watch seen old new").split()


def review(words):
    toks = random.choices(FILL, k=random.randint(8, 22))
    for w in random.choices(words, k=3):
        toks.insert(random.randrange(len(toks)), w)
    return " ".join(toks)


texts = [review(GOOD) for _ in range(900)] + [review(BAD) for _ in range(900)]
labels = np.array([1] * 900 + [0] * 900)

vocab = {w: i + 2 for i, w in enumerate(sorted(set(" ".join(texts).split())))}
seqs = [[vocab.get(w, 1) for w in t.split()] for t in texts]
data = keras.utils.pad_sequences(seqs, maxlen=25, padding="post")

# mix the reviews before taking the test part
np.random.shuffle(data)
x_train, x_test = data[:1500], data[1500:]
y_train, y_test = labels[:1500], labels[1500:]

model = keras.Sequential([
    layers.Input((25,)),
    layers.Embedding(len(vocab) + 2, 16),
    layers.Bidirectional(layers.LSTM(16)),
    layers.Dense(16, activation="relu"),
    layers.Dense(1, activation="sigmoid"),
])
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, epochs=6, batch_size=32, verbose=2)
print("test:", model.evaluate(x_test, y_test, verbose=0))
