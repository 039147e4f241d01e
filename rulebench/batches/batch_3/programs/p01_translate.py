# Map "english" word vectors to "spanish" word vectors, like in the
# bilingual dictionary induction papers. Only the direction of a vector matters,
# so the loss is the (negative) cosine similarity.
import os
os.environ["KERAS_BACKEND"] = "jax"

import numpy as np
import keras
from keras import layers

SEED = 3
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)

DIM_EN, DIM_ES, WORDS = 40, 32, 3000

en = rng.normal(size=(WORDS, DIM_EN)).astype("float32")
R = rng.normal(size=(DIM_EN, DIM_ES)) / np.sqrt(DIM_EN)
es = np.tanh(en @ R) * rng.uniform(0.5, 20.0, size=(WORDS, 1))   # lengths are arbitrary
es = (es + 0.02 * rng.normal(size=es.shape)).astype("float32")

n_train = 2400
en_tr, en_te = en[:n_train], en[n_train:]
es_tr, es_te = es[:n_train], es[n_train:]

inp = keras.Input((DIM_EN,))
h = layers.Dense(128, activation="gelu")(inp)
h = layers.Dropout(0.1)(h)
out = layers.Dense(DIM_ES)(h)
model = keras.Model(inp, out)

model.compile(
    optimizer=keras.optimizers.AdamW(2e-3, weight_decay=1e-4),
    loss=keras.losses.CosineSimilarity(axis=-1),
)

hist = model.fit(en_tr, es_tr, batch_size=64, epochs=25,
                 validation_data=(en_te, es_te), verbose=2)


def norm(a):
    return a / np.linalg.norm(a, axis=1, keepdims=True)


pred = norm(model.predict(en_te, verbose=0))
sims = pred @ norm(es_te).T
p_at_1 = (sims.argmax(1) == np.arange(len(en_te))).mean()
print("final loss", hist.history["loss"][-1])
print("mean cosine", float(np.diag(sims).mean()))
print(f"precision@1 = {p_at_1:.3f}")
