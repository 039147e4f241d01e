"""Seq2seq with GRUs: rewrite a digit string as its sorted version."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(11)

PAD, START, END = 0, 1, 2
OFFSET = 3
LENGTH = 5
ALPHABET = 6
VOCAB = ALPHABET + OFFSET
HIDDEN = 96


def make_pairs(n, seed):
    rng = np.random.default_rng(seed)
    source = rng.integers(0, ALPHABET, (n, LENGTH)) + OFFSET
    target = np.sort(source, axis=1)
    start = np.full((n, 1), START)
    end = np.full((n, 1), END)
    return source, np.concatenate([start, target, end], axis=1)


src_train, tgt_train = make_pairs(4000, 0)
src_val, tgt_val = make_pairs(500, 1)


def decoder_arrays(tgt):
    decoder_in = tgt[:, 1:]
    decoder_out = tgt[:, 1:]
    return decoder_in, decoder_out


enc_in = keras.Input((LENGTH,), dtype="int32")
x = layers.Embedding(VOCAB, 32)(enc_in)
_, state = layers.GRU(HIDDEN, return_state=True)(x)

dec_in = keras.Input((None,), dtype="int32")
dec_embed = layers.Embedding(VOCAB, 32)
dec_gru = layers.GRU(HIDDEN, return_sequences=True)
dec_dense = layers.Dense(VOCAB)
out = dec_dense(dec_gru(dec_embed(dec_in), initial_state=state))

model = keras.Model([enc_in, dec_in], out)
model.compile(keras.optimizers.Adam(4e-3),
              loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
              metrics=["accuracy"], jit_compile=False)

d_in, d_out = decoder_arrays(tgt_train)
v_in, v_out = decoder_arrays(tgt_val)
model.fit([src_train, d_in], d_out, validation_data=([src_val, v_in], v_out),
          epochs=8, batch_size=50, verbose=2)


def translate(source):
    tokens = np.full((len(source), 1), START)
    for _ in range(LENGTH):
        logits = model([source, tokens], training=False)
        nxt = np.argmax(np.asarray(logits)[:, -1], axis=-1)[:, None]
        tokens = np.concatenate([tokens, nxt], axis=1)
    return tokens[:, 1:]


decoded = translate(src_val[:200])
truth = tgt_val[:200, 1:-1]
print("exact match:", (decoded == truth).all(axis=1).mean())
print("token match:", (decoded == truth).mean())
for s, d in zip(src_val[:4], decoded[:4]):
    print((s - OFFSET).tolist(), "->", (d - OFFSET).tolist())
