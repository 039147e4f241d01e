# Sentiment-like classification of short reviews with an LSTM.
import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(11)
rng = np.random.default_rng(11)

VOCAB = 400
MAXLEN = 60
N = 1600

# words 1..20 are positive, 21..40 negative, the rest neutral
def make_review():
    label = rng.integers(0, 2)
    length = rng.integers(6, 16)
    words = rng.integers(41, VOCAB, size=length)
    n_op = rng.integers(2, 4)
    pos = rng.choice(length, n_op, replace=False)
    words[pos] = rng.integers(1, 21, size=n_op) + (0 if label == 1 else 20)
    return words.tolist(), label


reviews, labels = zip(*[make_review() for _ in range(N)])
labels = np.array(labels, dtype="float32")
x = keras.utils.pad_sequences(reviews, maxlen=MAXLEN, padding="post", truncating="post")
print("mean length", np.mean([len(r) for r in reviews]), "padded to", x.shape)

n_train = int(0.8 * N)
x_train, x_val = x[:n_train], x[n_train:]
y_train, y_val = labels[:n_train], labels[n_train:]

model = keras.Sequential([
    layers.Input((MAXLEN,), dtype="int32"),
    layers.Embedding(VOCAB, 16),
    layers.LSTM(16),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(
    optimizer=keras.optimizers.Adam(5e-3),
    loss="binary_crossentropy",
    metrics=["accuracy"],
)
model.summary()
hist = model.fit(
    x_train, y_train,
    validation_data=(x_val, y_val),
    batch_size=64, epochs=6, verbose=2,
)

val_loss, val_acc = model.evaluate(x_val, y_val, verbose=0)
print("validation loss %.4f accuracy %.4f" % (val_loss, val_acc))
p = model.predict(x_val[:8], verbose=0).ravel()
for pi, yi in zip(p, y_val[:8]):
    print(f"p(positive) = {pi:.3f}   label = {int(yi)}")
