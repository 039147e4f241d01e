import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers

# translate "digit strings" to their reversed form with an encoder-decoder
rng = np.random.default_rng(13)
START, END, V, L = 10, 11, 12, 5


def make(n):
    src = rng.integers(0, 10, (n, L))
    tgt = src[:, ::-1]
    tgt_full = np.concatenate([np.full((n, 1), START), tgt, np.full((n, 1), END)], 1)
    return src, tgt_full


src, full = make(5000)
enc_in = src
dec_in = full[:, 1:]
dec_target = full[:, 1:]

keras.utils.set_random_seed(13)
e_in = keras.Input((None,), dtype="int32")
d_in = keras.Input((None,), dtype="int32")
emb = layers.Embedding(V, 32)
_, h = layers.GRU(96, return_state=True)(emb(e_in))
dec = layers.GRU(96, return_sequences=True)(emb(d_in), initial_state=h)
logits = layers.Dense(V, activation="softmax")(dec)
model = keras.Model([e_in, d_in], logits)
model.compile(keras.optimizers.Adam(5e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit([enc_in, dec_in], dec_target, batch_size=64, epochs=8, validation_split=0.1, verbose=2)

test_src, test_full = make(200)
tokens = np.full((200, 1), START)
for _ in range(L):
    p = model([test_src, tokens]).numpy()[:, -1].argmax(-1)
    tokens = np.concatenate([tokens, p[:, None]], 1)
print("exact match", (tokens[:, 1:] == test_full[:, 1:-1]).all(1).mean())
print("digit accuracy", (tokens[:, 1:] == test_full[:, 1:-1]).mean())
