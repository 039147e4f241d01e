# sentiment of short reviews, based on the IMDB tutorial
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import random
import numpy as np
import keras
from keras.models import Sequential
from keras.layers import Input, Embedding, Flatten, Dense

SEED = 1234
random.seed(SEED)
keras.utils.set_random_seed(SEED)

GOOD = "great wonderful brilliant funny moving superb charming loved enjoyable perfect".split()
BAD = "boring awful terrible dull stupid worst mess hated annoying weak".split()
REST = ("the a this film movie plot actor scene story music it was is and very really quite of with "
        "some ending cast director camera i we they think watched again last night").split()


def make_review():
    label = random.randint(0, 1)
    n = random.randint(8, 20)
    words = [random.choice(REST) for _ in range(n)]
    mine, other = (GOOD, BAD) if label == 1 else (BAD, GOOD)
    for _ in range(random.randint(2, 4)):
        words[random.randrange(n)] = random.choice(mine)
    if random.random() < 0.2:
        words[random.randrange(n)] = random.choice(other)
    return " ".join(words), label


reviews = [make_review() for _ in range(2500)]
texts = [r[0] for r in reviews]
labels = np.array([r[1] for r in reviews])

# tokenizer + pad_sequences by hand
word_index = {w: i + 1 for i, w in enumerate(sorted(set(" ".join(texts).split())))}
max_features = len(word_index) + 1
maxlen = 20
data = np.zeros((len(texts), maxlen), dtype="int32")
for row, text in enumerate(texts):
    ids = [word_index[w] for w in text.split()]
    data[row, -len(ids):] = ids
print("Found %s unique tokens." % len(word_index))
print("Shape of data tensor:", data.shape, "positive reviews: %.3f" % labels.mean())

x_train, y_train = data[:2000], labels[:2000]
x_test, y_test = data[2000:], labels[2000:]

model = Sequential()
model.add(Input((maxlen,)))
model.add(Embedding(max_features, 8))
model.add(Flatten())
model.add(Dense(16, activation="relu"))
model.add(Dense(1, activation="softmax"))
model.compile(optimizer="rmsprop", loss="binary_crossentropy", metrics=["acc"])

history = model.fit(x_train, y_train, epochs=10, batch_size=32, validation_split=0.2, verbose=2)
print("test acc:", model.evaluate(x_test, y_test, verbose=0)[1])
print(model.predict(x_test[:5], verbose=0).ravel(), y_test[:5])
