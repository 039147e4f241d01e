import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(7)
rng = np.random.default_rng(7)
good = ["great", "love", "nice", "superb", "enjoyed", "perfect"]
bad = ["awful", "hate", "boring", "terrible", "waste", "poor"]
fill = ("the a this movie film plot actor was is and but very i it of in scene story end music "
        "one with really quite so time").split()
texts, labels = [], []
for i in range(1600):
    lab = i % 2
    n = rng.integers(5, 12)
    words = list(rng.choice(fill, n))
    words[rng.integers(0, n)] = rng.choice(good if lab else bad)
    texts.append(" ".join(words))
    labels.append(lab)
labels = np.array(labels)

vocab = {w: i + 1 for i, w in enumerate(sorted(set(" ".join(texts).split())))}
maxlen = 80
seqs = np.zeros((len(texts), maxlen), dtype="int32")
for i, t in enumerate(texts):
    ids = [vocab[w] for w in t.split()][:maxlen]
    seqs[i, :len(ids)] = ids
idx = rng.permutation(len(seqs))
seqs, labels = seqs[idx], labels[idx]

model = keras.Sequential([
    layers.Input((maxlen,)),
    layers.Embedding(len(vocab) + 1, 16),
    layers.LSTM(16),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(loss="binary_crossentropy", optimizer=keras.optimizers.Adam(0.003), metrics=["accuracy"])
model.fit(seqs[:1300], labels[:1300], epochs=8, batch_size=32, validation_data=(seqs[1300:], labels[1300:]), verbose=2)
print(model.evaluate(seqs[1300:], labels[1300:], verbose=0))
