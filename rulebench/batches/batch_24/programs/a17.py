"""Self-supervised features: online network predicts the projection of a slow copy."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

keras.utils.set_random_seed(77)
DIM = 64
STEPS = 600
BATCH = 128
TAU = 0.98


def make_encoder():
    return keras.Sequential([
        keras.Input((8, 8, 1)),
        layers.Conv2D(16, 3, padding="same", activation="relu"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(128), layers.BatchNormalization(), layers.ReLU(),
        layers.Dense(DIM),
        layers.BatchNormalization(),
    ])


online = make_encoder()
target = make_encoder()
target.set_weights(online.get_weights())
target.trainable = False
predictor = keras.Sequential([keras.Input((DIM,)), layers.Dense(96),
                              layers.BatchNormalization(), layers.ReLU(), layers.Dense(DIM)])

d = load_digits()
x = (d.images / 16.0).astype("float32")[..., None]
order = np.random.default_rng(0).permutation(len(x))
x, y = x[order], d.target[order]
x_train, y_train, x_test, y_test = x[:1400], y[:1400], x[1400:], y[1400:]


def views(batch):
    b = tf.shape(batch)[0]
    padded = tf.pad(batch, [[0, 0], [1, 1], [1, 1], [0, 0]])
    out = tf.image.random_crop(padded, (b, 8, 8, 1))
    out = out * tf.random.uniform((b, 1, 1, 1), 0.7, 1.3)
    out = out + tf.random.normal(tf.shape(out), stddev=0.1)
    keep = tf.cast(tf.random.uniform((b, 8, 8, 1)) > 0.15, tf.float32)
    return out * keep


def distance(p, z):
    p = tf.math.l2_normalize(p, axis=-1)
    z = tf.math.l2_normalize(tf.stop_gradient(z), axis=-1)
    return 2.0 - 2.0 * tf.reduce_mean(tf.reduce_sum(p * z, axis=-1))


opt = keras.optimizers.Adam(1e-3)
variables = online.trainable_variables + predictor.trainable_variables
opt.build(variables)


@tf.function
def train_step(batch):
    v1, v2 = views(batch), views(batch)
    t1, t2 = target(v1, training=True), target(v2, training=True)
    with tf.GradientTape() as tape:
        p1 = predictor(online(v1, training=True), training=True)
        p2 = predictor(online(v2, training=True), training=True)
        loss = distance(p1, t2) + distance(p2, t1)
    grads = tape.gradient(loss, variables)
    opt.apply_gradients(zip(grads, variables))
    for slow, fast in zip(target.weights, online.weights):
        slow.assign(TAU * slow + (1.0 - TAU) * fast)
    return loss


def probe():
    f_tr = online(x_train, training=False).numpy()
    f_te = online(x_test, training=False).numpy()
    few = slice(0, 100)      # only 100 labels
    clf = LogisticRegression(max_iter=500).fit(f_tr[few], y_train[few])
    return clf.score(f_te, y_test), f_te.std(0).mean()


print("probe before", probe())
data = iter(tf.data.Dataset.from_tensor_slices(x_train).shuffle(1400, seed=1).repeat().batch(BATCH))
for step in range(1, STEPS + 1):
    loss = train_step(next(data))
    if step % 100 == 0:
        acc, spread = probe()
        print(f"step {step} loss {float(loss):.3f} probe accuracy {acc:.3f} feature std {spread:.3f}")
