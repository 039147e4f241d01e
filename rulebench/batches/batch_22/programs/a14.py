import os
os.environ["KERAS_BACKEND"] = "tensorflow"

import tempfile
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(42)
WEIGHTS = os.path.join(tempfile.mkdtemp(), "best.weights.h5")

# synthetic sensor records, five operating states
X, y = make_classification(n_samples=3000, n_features=40, n_informative=14, n_redundant=6,
                           n_classes=5, n_clusters_per_class=2, class_sep=1.6, random_state=42)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, stratify=y, random_state=1)
X_train, X_val, y_train, y_val = train_test_split(X_train, y_train, test_size=0.2, stratify=y_train, random_state=1)
scaler = StandardScaler().fit(X_train)
X_train, X_val, X_test = (scaler.transform(a).astype("float32") for a in (X_train, X_val, X_test))


class SensorNet(keras.Model):
    def __init__(self, n_classes, width=96, **kw):
        super().__init__(**kw)
        self.d1 = layers.Dense(width, activation="gelu")
        self.d2 = layers.Dense(width, activation="gelu")
        self.drop = layers.Dropout(0.2)
        self.out = layers.Dense(n_classes, activation="softmax")

    def call(self, x, training=None):
        x = self.d1(x)
        x = self.drop(x, training=training)
        x = self.d2(x)
        return self.out(x)


model = SensorNet(5)
model.compile(optimizer=keras.optimizers.AdamW(1e-3, weight_decay=1e-4),
              loss="sparse_categorical_crossentropy",
              metrics=["accuracy"])

callbacks = [
    keras.callbacks.ModelCheckpoint(
        WEIGHTS,
        monitor="val_accuracy",
        mode="min",
        save_best_only=True,
        save_weights_only=True,
    ),
    keras.callbacks.ReduceLROnPlateau(monitor="val_loss", factor=0.5, patience=5),
]

hist = model.fit(
    X_train, y_train,
    validation_data=(X_val, y_val),
    epochs=15,
    batch_size=64,
    callbacks=callbacks,
    verbose=0,
)
for e in range(0, 15, 2):
    print(f"epoch {e + 1:3d}  loss {hist.history['loss'][e]:.4f}  "
          f"acc {hist.history['accuracy'][e]:.4f}  val_acc {hist.history['val_accuracy'][e]:.4f}")

model.load_weights(WEIGHTS)
loss, acc = model.evaluate(X_test, y_test, verbose=0)
print(f"test loss {loss:.4f}  test accuracy {acc:.4f}")
