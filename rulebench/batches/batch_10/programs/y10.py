import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
import keras
from keras import layers
from sklearn.datasets import make_blobs

# custom loop with two optimizers: slow for the embedding body, fast for the head
keras.utils.set_random_seed(110)
X, y = make_blobs(2600, centers=9, n_features=6, cluster_std=2.2, random_state=110)
X = ((X - X.mean(0)) / X.std(0)).astype("float32")
ds = tf.data.Dataset.from_tensor_slices((X[:2000], y[:2000])).shuffle(2000, seed=0).batch(40)

body = keras.Sequential([keras.Input((6,)), layers.Dense(48, activation="tanh"), layers.Dense(32, activation="tanh")])
head = keras.Sequential([keras.Input((32,)), layers.Dense(9)])
opt_body = keras.optimizers.Adam(1e-3)
opt_head = keras.optimizers.SGD(0.1)
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def step(xb, yb):
    with tf.GradientTape() as tape:
        loss = loss_fn(yb, head(body(xb, training=True), training=True))
    vb, vh = body.trainable_variables, head.trainable_variables
    grads = tape.gradient(loss, vb + vh)
    opt_body.apply_gradients(zip(grads[:len(vb)], vb))
    opt_head.apply_gradients(zip(grads[len(vb):], vh))
    return loss


for epoch in range(15):
    losses = [float(step(xb, yb)) for xb, yb in ds]
    pred = np.argmax(head(body(X[2000:], training=False), training=False), 1)
    print(f"epoch {epoch} loss {np.mean(losses):.4f} val acc {(pred == y[2000:]).mean():.4f}")
