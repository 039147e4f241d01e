# Recipe tagging: each recipe gets any number of the 8 tags (vegan, quick, spicy, ...)
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.metrics import f1_score

keras.utils.set_random_seed(11)
rng = np.random.default_rng(11)

N, VOCAB, LEN, TAGS = 3000, 200, 20, 8
tag_words = rng.choice(np.arange(1, VOCAB), size=(TAGS, 8), replace=False)
tag_prob = np.array([0.45, 0.4, 0.35, 0.3, 0.3, 0.25, 0.2, 0.2])

labels = (rng.random((N, TAGS)) < tag_prob).astype("float32")
texts = rng.integers(1, VOCAB, size=(N, LEN))
for i in range(N):
    # background words must not come from a tag list
    bg = np.setdiff1d(np.arange(1, VOCAB), tag_words.ravel())
    texts[i] = rng.choice(bg, LEN)
    pos = rng.permutation(LEN)
    k = 0
    for t in np.flatnonzero(labels[i]):
        for _ in range(2):
            texts[i, pos[k]] = rng.choice(tag_words[t])
            k += 1

cut = 2400
x_train, y_train = texts[:cut], labels[:cut]
x_test, y_test = texts[cut:], labels[cut:]

model = keras.Sequential([
    layers.Input((LEN,), dtype="int32"),
    layers.Embedding(VOCAB, 24),
    layers.Conv1D(48, 1, activation="relu"),
    layers.GlobalMaxPooling1D(),
    layers.Dropout(0.2),
    layers.Dense(TAGS, activation="softmax"),
])
model.compile(optimizer=keras.optimizers.Adam(3e-3),
              loss="categorical_crossentropy")
model.summary()

hist = model.fit(x_train, y_train, batch_size=64, epochs=12,
                 validation_data=(x_test, y_test), verbose=2)

probs = model.predict(x_test, verbose=0)
pred = (probs > 0.5).astype(int)
print("example:", y_test[0].astype(int), "->", pred[0])
print("micro F1 on test:", round(f1_score(y_test, pred, average="micro"), 4))
print("rows with every tag right:", round(float((pred == y_test).all(1).mean()), 4))
