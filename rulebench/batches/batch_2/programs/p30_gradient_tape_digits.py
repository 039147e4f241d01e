# Writing a training loop from scratch (tf.GradientTape), following the guide
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf
import keras
from sklearn.datasets import load_digits

keras.utils.set_random_seed(1)
X, y = load_digits(return_X_y=True)
X = (X / 16.0).astype("float32")
y = y.astype("int64")
train_ds = tf.data.Dataset.from_tensor_slices((X[:1440], y[:1440])).shuffle(1440, seed=1).batch(48)

inputs = keras.Input((64,))
x = keras.layers.Dense(64, activation="relu")(inputs)
x = keras.layers.Dense(64, activation="relu")(x)
outputs = keras.layers.Dense(10, activation="softmax")(x)
model = keras.Model(inputs, outputs)
optimizer = keras.optimizers.SGD(0.1, momentum=0.5)
acc = keras.metrics.SparseCategoricalAccuracy()


@tf.function
def train_step(xb, yb):
    with tf.GradientTape() as tape:
        pred = model(xb, training=True)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=yb, logits=pred))
    grads = tape.gradient(loss, model.trainable_weights)
    optimizer.apply_gradients(zip(grads, model.trainable_weights))
    acc.update_state(yb, pred)
    return loss


for epoch in range(15):
    acc.reset_state()
    m = keras.metrics.Mean()
    for xb, yb in train_ds:
        m.update_state(train_step(xb, yb))
    if epoch % 2 == 0:
        val = model(X[1440:], training=False)
        va = tf.reduce_mean(tf.cast(tf.argmax(val, 1) == y[1440:], tf.float32))
        print(f"epoch {epoch}: loss {float(m.result()):.4f}  acc {float(acc.result()):.4f}  val_acc {float(va):.4f}")
