import os
os.environ["KERAS_BACKEND"] = "tensorflow"

import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(41)

MICRO_BATCH = 4
ACCUM = 8
EPOCHS = 14

X, y = load_diabetes(return_X_y=True)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.2, random_state=5)
X_tr, X_va, y_tr, y_va = train_test_split(X_tr, y_tr, test_size=0.15, random_state=5)
xs = StandardScaler().fit(X_tr)
ys = StandardScaler().fit(y_tr[:, None])
X_tr, X_va, X_te = (xs.transform(a).astype("float32") for a in (X_tr, X_va, X_te))
y_tr_s, y_va_s = ys.transform(y_tr[:, None]), ys.transform(y_va[:, None])

model = keras.Sequential(
    [
        keras.Input((X_tr.shape[1],)),
        layers.Dense(16, activation="tanh", kernel_regularizer=keras.regularizers.L2(1e-2)),
        layers.Dense(1),
    ]
)

# memory on the target board holds four rows: update once in eight micro-batches
optimizer = keras.optimizers.Adam(learning_rate=1e-2, gradient_accumulation_steps=ACCUM)
model.compile(optimizer=optimizer, loss="mse", metrics=["mae"])


class WeightChange(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        self.before = [w.copy() for w in self.model.get_weights()]

    def on_epoch_end(self, epoch, logs=None):
        after = self.model.get_weights()
        delta = np.sqrt(sum(((a - b) ** 2).sum() for a, b in zip(after, self.before)))
        print(f"epoch {epoch:2d} loss {logs['loss']:.4f} val {logs['val_loss']:.4f} moved {delta:.4f}")


model.fit(
    X_tr,
    y_tr_s,
    validation_data=(X_va, y_va_s),
    epochs=EPOCHS,
    batch_size=MICRO_BATCH,
    callbacks=[WeightChange()],
    verbose=0,
)

pred = ys.inverse_transform(model.predict(X_te, verbose=0))[:, 0]
lin = LinearRegression().fit(X_tr, y_tr).predict(X_te)


def r2(t, p):
    return 1 - ((t - p) ** 2).sum() / ((t - t.mean()) ** 2).sum()


print(f"test R2 network {r2(y_te, pred):.4f}  linear regression {r2(y_te, lin):.4f}")
