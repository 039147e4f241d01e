# Ported from our old TF1 code base: sound-event tagging on 32 mel-band statistics
import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(77)
rng = np.random.default_rng(77)
K, D = 6, 32
centres = rng.normal(size=(K, D)) * 0.9
tags = (rng.random((2000, K)) < 0.25).astype("float32")
feats = (tags @ centres + rng.normal(size=(2000, D))).astype("float32")
feats -= feats[:1500].mean(0)
feats /= feats[:1500].std(0)

hp = dict(units=48, keep=0.92, lr=1e-3, batch=50, epochs=20)


def build(hp):
    i = keras.Input((D,))
    h = layers.Dense(hp["units"], activation="relu")(i)
    h = layers.Dropout(hp["keep"])(h)
    h = layers.Dense(hp["units"], activation="relu")(h)
    h = layers.Dropout(hp["keep"])(h)
    o = layers.Dense(K, activation="sigmoid")(h)     # multi-label, hence sigmoid per tag
    return keras.Model(i, o)


model = build(hp)
model.compile(keras.optimizers.Adam(hp["lr"]), "binary_crossentropy",
              metrics=[keras.metrics.AUC(multi_label=True, num_labels=K, name="auc")])
model.fit(feats[:1500], tags[:1500], validation_data=(feats[1500:], tags[1500:]),
          batch_size=hp["batch"], epochs=hp["epochs"], verbose=2)
