import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import tensorflow as tf
import keras
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(21)

# sensor table: every column has its own unit (mV, Pa, rpm, ...)
X, y = make_classification(n_samples=5000, n_features=24, n_informative=14, n_classes=5,
                           n_clusters_per_class=2, class_sep=1.4, random_state=21)
rng = np.random.default_rng(21)
X = X * 10 ** rng.uniform(-2, 3, size=24) + 10 ** rng.uniform(0, 3, size=24)
X = X.astype("float32")
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=4)

inputs = keras.Input((24,))
h = keras.layers.BatchNormalization(momentum=0.9)(inputs)   # puts the columns on one scale
for units in (64, 64):
    h = keras.layers.Dense(units, use_bias=False)(h)
    h = keras.layers.BatchNormalization(momentum=0.9)(h)
    h = keras.layers.Activation("relu")(h)
outputs = keras.layers.Dense(5)(h)
model = keras.Model(inputs, outputs)

loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
opt = keras.optimizers.Adam(2e-3)
train_loss = keras.metrics.Mean()
train_acc = keras.metrics.SparseCategoricalAccuracy()
ds = tf.data.Dataset.from_tensor_slices((X_train, y_train)).shuffle(4000, seed=0).batch(64)


@tf.function
def train_step(xb, yb):
    with tf.GradientTape() as tape:
        logits = model(xb)
        loss = loss_fn(yb, logits)
    grads = tape.gradient(loss, model.trainable_variables)
    opt.apply_gradients(zip(grads, model.trainable_variables))
    train_loss.update_state(loss)
    train_acc.update_state(yb, logits)


for epoch in range(25):
    train_loss.reset_state()
    train_acc.reset_state()
    for xb, yb in ds:
        train_step(xb, yb)
    if epoch % 4 == 0 or epoch == 24:
        print(f"Epoch {epoch + 1}: loss={float(train_loss.result()):.4f} acc={float(train_acc.result()):.4f}")

pred = np.argmax(model(X_test, training=False), axis=1)
print("test accuracy:", round(float((pred == y_test).mean()), 4))
