import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
import keras
from keras import layers

# land use classification from spectral bands (synthetic)
keras.utils.set_random_seed(21)
rng = np.random.default_rng(21)
K, BANDS, N = 8, 12, 3000
centers = rng.normal(0, 1.0, (K, BANDS))
labels = rng.integers(0, K, N)
feats = (centers[labels] + rng.normal(0, 0.8, (N, BANDS))).astype("float32")
train = tf.data.Dataset.from_tensor_slices((feats[:2400], labels[:2400])).shuffle(2400, seed=1).batch(64)
valid = tf.data.Dataset.from_tensor_slices((feats[2400:], labels[2400:])).batch(128)

model = keras.Sequential([
    keras.Input((BANDS,)),
    layers.Dense(48, activation="relu"),
    layers.Dense(48, activation="relu"),
    layers.Dense(K),
])
model.compile(
    optimizer=keras.optimizers.Adam(1e-3),
    loss=keras.losses.SparseCategoricalCrossentropy(),
    metrics=["accuracy"],
)
model.fit(train, validation_data=valid, epochs=20, verbose=2)
logits = model.predict(feats[2400:], verbose=0)
print("valid accuracy:", (logits.argmax(1) == labels[2400:]).mean())
