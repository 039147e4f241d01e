import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

# About 20 % of our annotators' labels are wrong, hence the strong smoothing
# (0.3) and the comparatively large batch.  The clean labels of the test part
# come from the expert.
keras.utils.set_random_seed(1234)
rng = np.random.default_rng(1234)
N_CLASSES = 5
X, y = make_classification(5000, 24, n_informative=14, n_redundant=4, n_classes=N_CLASSES,
                           n_clusters_per_class=1, class_sep=1.6, flip_y=0.0, random_state=9)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.3, random_state=2)
wrong = rng.random(len(y_tr)) < 0.2
y_noisy = np.where(wrong, rng.integers(0, N_CLASSES, len(y_tr)), y_tr)
sc = StandardScaler().fit(X_tr)
X_tr, X_te = sc.transform(X_tr).astype("float32"), sc.transform(X_te).astype("float32")

inp = keras.Input((24,))
h = layers.Dense(64, activation="silu", kernel_regularizer=keras.regularizers.L2(1e-3))(inp)
h = layers.Dense(64, activation="silu", kernel_regularizer=keras.regularizers.L2(1e-3))(h)
logits = layers.Dense(N_CLASSES)(h)
model = keras.Model(inp, logits)
model.compile(
    optimizer=keras.optimizers.Adam(2e-3),
    loss=keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.3),
    metrics=["accuracy"],
)


class Report(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        if epoch % 5 == 4:
            print(f"[{epoch + 1:3d}] loss={logs['loss']:.3f} noisy-label acc={logs['accuracy']:.3f}")


model.fit(X_tr, keras.utils.to_categorical(y_noisy, N_CLASSES), batch_size=128, epochs=40,
          verbose=0, callbacks=[Report()])
pred = model.predict(X_te, verbose=0).argmax(1)
print("accuracy against expert labels: %.3f" % (pred == y_te).mean())
