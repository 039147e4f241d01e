import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

# multi label tagging
keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
W = rng.normal(size=(30, 6))
X = rng.normal(size=(3000, 30)).astype("float32")
Y = ((X @ W + rng.normal(size=(3000, 6))) > np.array([0, 2, 4, 6, 0, -3])).astype("float32")
print("tag frequency", Y.mean(0))

model = keras.Sequential([
    layers.Input((30,)),
    layers.Dense(64, activation="relu"),
    layers.Dropout(0.2),
    layers.Dense(6, activation="sigmoid"),
])
model.compile(optimizer="adam", loss="binary_crossentropy",
              metrics=["binary_accuracy", keras.metrics.AUC(multi_label=True, num_labels=6, name="auc")])
model.fit(X[:2400], Y[:2400], batch_size=32, epochs=12, validation_data=(X[2400:], Y[2400:]), verbose=2)
print(model.evaluate(X[2400:], Y[2400:], verbose=0))
