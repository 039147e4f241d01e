import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import numpy as np
import tensorflow as tf
import keras
from keras import layers
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(33)
# sensor readings in their physical units (pascals, kelvins, volts, ...)
X, y = make_classification(n_samples=5000, n_features=20, n_informative=12, n_redundant=2, n_classes=4,
                           n_clusters_per_class=2, class_sep=1.2, random_state=33)
units = 10 ** np.random.default_rng(33).uniform(-2.5, 2.5, 20)
X = (X * units + 3 * units).astype("float32")
Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=0.3, random_state=1)

model = keras.Sequential([
    keras.Input((20,)),
    layers.BatchNormalization(),        # takes care of the units
    layers.Dense(64), layers.BatchNormalization(), layers.Activation("relu"),
    layers.Dense(64), layers.BatchNormalization(), layers.Activation("relu"),
    layers.Dense(4),
])
optimizer = keras.optimizers.Adam(1e-3)
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
train_loss = keras.metrics.Mean()
train_acc = keras.metrics.SparseCategoricalAccuracy()
test_acc = keras.metrics.SparseCategoricalAccuracy()
train_ds = tf.data.Dataset.from_tensor_slices((Xtr, ytr)).shuffle(4000).batch(64)
test_ds = tf.data.Dataset.from_tensor_slices((Xte, yte)).batch(256)


@tf.function
def train_step(xb, yb):
    with tf.GradientTape() as tape:
        logits = model(xb)
        loss = loss_fn(yb, logits)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    train_loss.update_state(loss)
    train_acc.update_state(yb, logits)


@tf.function
def test_step(xb, yb):
    test_acc.update_state(yb, model(xb, training=False))


for epoch in range(15):
    for m in (train_loss, train_acc, test_acc):
        m.reset_state()
    for xb, yb in train_ds:
        train_step(xb, yb)
    for xb, yb in test_ds:
        test_step(xb, yb)
    print(f"Epoch {epoch+1}: loss {float(train_loss.result()):.4f} acc {float(train_acc.result()):.4f} "
          f"test acc {float(test_acc.result()):.4f}")
print("Final test accuracy: %.4f" % float(test_acc.result()))
