import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf
import keras
from sklearn.datasets import load_digits
from sklearn.utils import shuffle as sk_shuffle

keras.utils.set_random_seed(0)

X, y = load_digits(return_X_y=True)
X = (X / 16.).astype(np.float32)
X, y = sk_shuffle(X, y.astype(np.int64), random_state=0)
X_train, y_train = X[:1400], y[:1400]
X_test, y_test = X[1400:], y[1400:]


def get_batch(size=48, seed=123):
    """Random minibatch from the training set (seeded, for reproducibility)."""
    rng = np.random.RandomState(seed)
    idx = rng.choice(len(X_train), size, replace=False)
    return tf.constant(X_train[idx]), tf.constant(y_train[idx])


class MLP(keras.Model):
    def __init__(self):
        super().__init__()
        self.d1 = keras.layers.Dense(64, activation="elu", kernel_initializer="he_normal")
        self.drop = keras.layers.Dropout(0.2)
        self.d2 = keras.layers.Dense(10)

    def call(self, x, training=False):
        return self.d2(self.drop(self.d1(x), training=training))


model = MLP()
loss_obj = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = keras.optimizers.Adam(2e-3)
test_acc = keras.metrics.SparseCategoricalAccuracy()


@tf.function
def train_step(xb, yb):
    with tf.GradientTape() as tape:
        logits = model(xb, training=True)
        loss = loss_obj(yb, logits)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


for step in range(1000):
    xb, yb = get_batch()
    loss = train_step(xb, yb)
    if step % 100 == 0:
        test_acc.reset_state()
        test_acc.update_state(y_test, model(X_test, training=False))
        print(f"step {step}: loss={float(loss):.4f} test_acc={float(test_acc.result()):.4f}")
