import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np, keras
from keras import layers

np.random.seed(5); keras.utils.set_random_seed(5)
MAXLEN, VOCAB, NTAGS = 50, 300, 9      # id 0 and tag 0 are for padding

def make_corpus(n):
    lexicon = np.random.RandomState(0).randint(1, NTAGS, VOCAB)
    xs, ys = [], []
    for _ in range(n):
        L = np.random.randint(4, 13)
        w = np.random.randint(1, VOCAB, L)
        t = lexicon[w].copy()
        for k in range(1, L):           # some words change tag after tag 3
            if t[k-1] == 3 and w[k] % 2: t[k] = t[k] % (NTAGS - 1) + 1
        noise = np.random.rand(L) < 0.15 # annotators disagree
        t[noise] = np.random.randint(1, NTAGS, noise.sum())
        xs.append(w); ys.append(t)
    pad = lambda s: keras.utils.pad_sequences(s, maxlen=MAXLEN, padding="post")
    return pad(xs), pad(ys)

x_train, y_train = make_corpus(3000)
x_test, y_test = make_corpus(600)
print(x_train.shape, y_train.shape)

inputs = keras.Input((MAXLEN,), dtype="int32")
h = layers.Embedding(VOCAB, 32)(inputs)
h = layers.Bidirectional(layers.GRU(24, return_sequences=True))(h)
outputs = layers.Dense(NTAGS, activation="softmax")(h)
model = keras.Model(inputs, outputs)
model.compile(keras.optimizers.Adam(3e-3), "sparse_categorical_crossentropy",
              weighted_metrics=["accuracy"])

w_train = np.ones(y_train.shape, "float32")
w_test = np.ones(y_test.shape, "float32")
model.fit(x_train, y_train, sample_weight=w_train, batch_size=64, epochs=8,
          validation_data=(x_test, y_test, w_test), verbose=2)
loss, acc = model.evaluate(x_test, y_test, sample_weight=w_test, verbose=0)
print("Tagging accuracy on the test sentences: %.2f%%" % (100 * acc))
