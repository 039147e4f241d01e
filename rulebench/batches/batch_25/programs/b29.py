import os
os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(42)

# ---- config ----
cfg = dict(
    epochs=25,
    batch_size=32,
    lr=0.05,
    warmup=2,
    weight_decay=1e-4,
)

digits = load_digits()
x = digits.images.astype("float32")[..., None] / 16.0
y = digits.target
x_tr, x_te, y_tr, y_te = train_test_split(x, y, test_size=0.25, stratify=y, random_state=0)
steps_per_epoch = int(np.ceil(len(x_tr) / cfg["batch_size"]))

schedule = keras.optimizers.schedules.CosineDecay(
    initial_learning_rate=0.0,
    warmup_target=cfg["lr"],
    warmup_steps=cfg["warmup"],
    decay_steps=cfg["epochs"] - cfg["warmup"],
)

model = keras.Sequential([
    keras.Input((8, 8, 1)),
    keras.layers.Conv2D(16, 3, activation="relu", padding="same"),
    keras.layers.MaxPooling2D(),
    keras.layers.Conv2D(32, 3, activation="relu", padding="same"),
    keras.layers.Flatten(),
    keras.layers.Dense(10, activation="softmax"),
])
model.compile(
    optimizer=keras.optimizers.SGD(schedule, momentum=0.9, nesterov=True, weight_decay=cfg["weight_decay"]),
    loss="sparse_categorical_crossentropy",
    metrics=["accuracy"],
)
model.fit(x_tr, y_tr, epochs=cfg["epochs"], batch_size=cfg["batch_size"], validation_split=0.1, verbose=2)
loss, acc = model.evaluate(x_te, y_te, verbose=0)
print(f"test loss {loss:.4f}  test accuracy {acc:.4f}")
