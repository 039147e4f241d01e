import os
os.environ["KERAS_BACKEND"] = "jax"
import random
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(99)

# Toy review corpus -----------------------------------------------------
GOOD = "great lovely superb tasty charming friendly fast clean".split()
BAD = "awful slow dirty rude bland noisy broken cold".split()
NEUTRAL = "the a food room waiter place we was were table hotel night it and very".split()
NEG = "not"


def make_review(rnd):
    words, score = [], 0
    for _ in range(rnd.randint(4, 22)):
        r = rnd.random()
        if r < 0.25:
            pos = rnd.random() < 0.5
            flip = rnd.random() < 0.3
            if flip:
                words.append(NEG)
            words.append(rnd.choice(GOOD if pos else BAD))
            score += (1 if pos else -1) * (-1 if flip else 1)
        else:
            words.append(rnd.choice(NEUTRAL))
    return words, score


rnd = random.Random(0)
texts, labels = [], []
while len(texts) < 3000:
    w, s = make_review(rnd)
    if s != 0:
        texts.append(w)
        labels.append(int(s > 0))

train_texts, test_texts = texts[:2400], texts[2400:]
vocab = {"<pad>": 0, "<unk>": 1}
for t in train_texts:
    for w in t:
        vocab.setdefault(w, len(vocab))
print("vocabulary", len(vocab))

seqs = [[vocab.get(w, 1) for w in t] for t in texts]
x = keras.utils.pad_sequences(seqs, maxlen=32, padding="post")
y = np.array(labels, "float32")
x_train, x_test, y_train, y_test = x[:2400], x[2400:], y[:2400], y[2400:]

model = keras.Sequential([
    keras.Input((32,), dtype="int32"),
    layers.Embedding(len(vocab), 16, mask_zero=True),
    layers.Bidirectional(layers.LSTM(24)),
    layers.Dropout(0.2),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer=keras.optimizers.Adam(4e-3), loss="binary_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=64, epochs=6, validation_split=0.1, verbose=2)

print("test:", model.evaluate(x_test, y_test, verbose=0))
for s in ("the food was great and tasty", "the food was not great", "room not dirty and waiter friendly"):
    ids = [[vocab.get(w, 1) for w in s.split()]]
    p = model.predict(keras.utils.pad_sequences(ids, maxlen=32, padding="post"), verbose=0)[0, 0]
    print(f"{p:.2f}  {s}")
