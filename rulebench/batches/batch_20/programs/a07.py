import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.model_selection import train_test_split

SEED = 21
keras.utils.set_random_seed(SEED)

# Two interleaved spirals, embedded with a few nuisance dimensions
def spirals(n, turns=2.0, noise=0.12):
    rng = np.random.default_rng(SEED)
    t = np.sqrt(rng.uniform(0.05, 1, size=n)) * turns * 2 * np.pi
    cls = rng.integers(0, 2, size=n)
    r = t / (2 * np.pi)
    ang = t + np.pi * cls
    pts = np.stack([r * np.cos(ang), r * np.sin(ang)], 1)
    pts += rng.normal(scale=noise / 4, size=pts.shape)
    extra = rng.normal(size=(n, 2)) * 0.3
    return np.hstack([pts, extra]).astype("float32"), cls.astype("int32")


X, y = spirals(3000)
X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=0.25, random_state=SEED)

model = keras.Sequential(
    [
        keras.Input((4,)),
        layers.Dense(64, activation="tanh"),
        layers.Dense(64, activation="relu"),
        layers.Dense(64, activation="relu"),
        layers.Dense(2, activation="softmax"),
    ]
)
model.compile(
    optimizer=keras.optimizers.Adam(learning_rate=1e-3),
    loss="sparse_categorical_crossentropy",
    metrics=["accuracy"],
)

callbacks = [
    keras.callbacks.ReduceLROnPlateau(
        monitor="val_accuracy",
        mode="min",
        factor=0.5,
        patience=4,
        min_lr=1e-5,
        verbose=1,
    ),
]

history = model.fit(
    X_train, y_train,
    validation_data=(X_val, y_val),
    epochs=40,
    batch_size=64,
    callbacks=callbacks,
    verbose=2,
)
print("best val accuracy", max(history.history["val_accuracy"]))
print("last val accuracy", history.history["val_accuracy"][-1])
