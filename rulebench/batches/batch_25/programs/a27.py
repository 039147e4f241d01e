import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import random
import numpy as np
import keras
from keras import layers

# sentiment of short comments
keras.utils.set_random_seed(2)
random.seed(2)
POS = "great love nice superb enjoy happy brilliant fun".split()
NEG = "awful hate boring poor sad terrible dull broken".split()
FILL = "the a movie film plot actor it was this that really very scene and then with story music".split()
word_index = {w: i + 1 for i, w in enumerate(POS + NEG + FILL + ["not"])}
MAXLEN = 100


def comment():
    label = random.random() < 0.5
    words = [random.choice(FILL) for _ in range(random.randint(5, 18))]
    for _ in range(random.randint(1, 3)):
        at = random.randint(0, len(words))
        if random.random() < 0.3:
            words[at:at] = ["not", random.choice(NEG if label else POS)]
        else:
            words[at:at] = [random.choice(POS if label else NEG)]
    return words, int(label)


data = [comment() for _ in range(2600)]
X = keras.utils.pad_sequences([[word_index[w] for w in ws] for ws, _ in data], maxlen=MAXLEN, padding="post")
y = np.array([l for _, l in data])
X_train, y_train, X_test, y_test = X[:2000], y[:2000], X[2000:], y[2000:]

model = keras.Sequential([
    layers.Embedding(len(word_index) + 1, 16),
    layers.LSTM(16),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(loss="binary_crossentropy", optimizer=keras.optimizers.Adam(3e-3), metrics=["accuracy"])
model.fit(X_train, y_train, validation_split=0.1, epochs=7, batch_size=32, verbose=2)
score = model.evaluate(X_test, y_test, verbose=0)
print("Test score:", score[0])
print("Test accuracy:", score[1])
