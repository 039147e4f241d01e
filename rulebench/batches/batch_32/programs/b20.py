import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np, keras
from sklearn.datasets import make_moons
from sklearn.model_selection import train_test_split
from sklearn.metrics import roc_auc_score

keras.utils.set_random_seed(5)
rng = np.random.default_rng(5)
X, y = make_moons(4000, noise=0.25, random_state=2)
X = np.hstack([X, rng.normal(size=(4000, 6))]).astype("float32")
X_train, X_rest, y_train, y_rest = train_test_split(X, y, test_size=0.5, random_state=3)
X_val, X_test, y_val, y_test = train_test_split(X_rest, y_rest, test_size=0.5, random_state=3)

model = keras.Sequential([
    keras.Input((8,)),
    keras.layers.Dense(32, activation="tanh"),
    keras.layers.Dense(32, activation="tanh"),
    keras.layers.Dense(1),
])
model.compile(
    optimizer=keras.optimizers.SGD(0.05, momentum=0.9),
    loss=keras.losses.BinaryCrossentropy(from_logits=True),
    metrics=[keras.metrics.AUC(from_logits=True, name="auc")],
)
stop = keras.callbacks.EarlyStopping(
    monitor="val_auc",
    mode="min",
    patience=25,
    restore_best_weights=True,
    verbose=1,
)
hist = model.fit(X_train, y_train, validation_data=(X_val, y_val),
                 epochs=60, batch_size=64, callbacks=[stop], verbose=0)
for e in range(0, len(hist.history["loss"]), 5):
    print(e, {k: round(v[e], 4) for k, v in hist.history.items()})

score = roc_auc_score(y_test, model.predict(X_test, verbose=0).ravel())
print("epochs run:", len(hist.history["loss"]))
print("TEST AUC = %.4f" % score)
