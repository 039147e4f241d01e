import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import tensorflow as tf
import keras
from keras import layers

keras.utils.set_random_seed(109)
rng = np.random.default_rng(109)
X = rng.normal(size=(2000, 30)).astype("float32")
W = rng.normal(size=(30, 5)) / np.sqrt(30)
Y = (X @ W - 0.5 + 0.1 * rng.normal(size=(2000, 5)) > 0).astype("float32")   # several labels, each rarer than half

ds = tf.data.Dataset.from_tensor_slices((X[:1600], Y[:1600])).shuffle(1600).batch(64).prefetch(2)
val = tf.data.Dataset.from_tensor_slices((X[1600:], Y[1600:])).batch(200)
model = keras.Sequential([
    layers.Input((30,)),
    layers.Dense(64, activation="relu", kernel_regularizer=keras.regularizers.l2(1e-4)),
    layers.Dense(5, activation="sigmoid"),
])
model.compile("adam", "binary_crossentropy", metrics=[keras.metrics.F1Score(average="micro", threshold=0.5, name="f1")])
model.fit(ds, epochs=20, validation_data=val, verbose=2)
print(model.evaluate(val, verbose=0, return_dict=True))
