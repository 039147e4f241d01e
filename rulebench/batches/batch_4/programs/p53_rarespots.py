import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import keras
from keras import layers
from sklearn.metrics import average_precision_score, balanced_accuracy_score

"""Detect a faint bright spot in 12x12 camera crops (8-bit), 6 % positives, focal loss + class weights,
cosine schedule with warm restarts."""
SEED = 55
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)


def crops(n, rate=0.06):
    y = (rng.random(n) < rate).astype("int32")
    x = rng.normal(90, 18, (n, 12, 12)) + rng.normal(0, 15, (n, 1, 1))
    for i in np.flatnonzero(y):
        r, c = rng.integers(2, 10, 2)
        x[i, r - 1:r + 2, c - 1:c + 2] += 42
    return np.clip(x, 0, 255).astype("uint8").astype("float32")[..., None], y


x_train, y_train = crops(6000)
x_val, y_val = crops(2500)
print("pixels", x_train.min(), x_train.max(), "positives", y_train.mean())

norm = layers.Normalization(axis=None)
norm.adapt(x_train)
model = keras.Sequential([
    keras.Input((12, 12, 1)),
    norm,
    layers.Conv2D(12, 3, padding="same", use_bias=False),
    layers.BatchNormalization(),
    layers.Activation("relu"),
    layers.Conv2D(16, 3, padding="same", activation="relu"),
    layers.GlobalMaxPooling2D(),
    layers.Dense(16, activation="relu"),
    layers.Dense(1, activation="sigmoid", bias_initializer=keras.initializers.Constant(-2.0)),
])
steps = int(np.ceil(len(x_train) / 100))
lr = keras.optimizers.schedules.CosineDecayRestarts(5e-3, first_decay_steps=3 * steps, t_mul=2.0, m_mul=0.9)
model.compile(keras.optimizers.Adam(lr), keras.losses.BinaryFocalCrossentropy(gamma=1.5),
              metrics=[keras.metrics.AUC(curve="PR", name="pr"), keras.metrics.Recall(name="recall")])
w = {0: 1.0, 1: 5.0}
model.fit(x_train, y_train, batch_size=100, epochs=9, class_weight=w, validation_data=(x_val, y_val), verbose=2)
p = model.predict(x_val, verbose=0).ravel()
print("average precision %.3f balanced accuracy %.3f mean prediction %.3f" % (
    average_precision_score(y_val, p), balanced_accuracy_score(y_val, p > 0.5), p.mean()))
