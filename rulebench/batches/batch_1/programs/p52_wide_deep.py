"""Wide & deep, custom loop with two optimizers: Ftrl for the wide part, Adam for the deep part."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
import keras

keras.utils.set_random_seed(20)
rng = np.random.default_rng(20)
n = 8000
cat_a, cat_b = rng.integers(0, 30, n), rng.integers(0, 20, n)
num = rng.normal(size=(n, 5)).astype("float32")
wa, wb = rng.normal(0, 1, 30), rng.normal(0, 1, 20)
logit = wa[cat_a] + wb[cat_b] + 1.5 * num[:, 0] * num[:, 1] - num[:, 2] ** 2 + 0.8
y = (rng.random(n) < 1 / (1 + np.exp(-2 * logit))).astype("float32")
wide = np.zeros((n, 50), "float32")
wide[np.arange(n), cat_a] = 1
wide[np.arange(n), 30 + cat_b] = 1

wide_part = keras.Sequential([keras.Input((50,)), keras.layers.Dense(1, kernel_initializer="zeros")])
deep_part = keras.Sequential([keras.Input((5,)), keras.layers.Dense(32, "relu"), keras.layers.Dense(32, "relu"), keras.layers.Dense(1)])
opt_w = keras.optimizers.Ftrl(0.2, l1_regularization_strength=1e-4)
opt_d = keras.optimizers.Adam(2e-3)
bce = keras.losses.BinaryCrossentropy(from_logits=True)


@tf.function
def step(w, x, t):
    with tf.GradientTape() as tape:
        z = wide_part(w) + deep_part(x)
        loss = bce(t[:, None], z)
    nw = len(wide_part.trainable_variables)
    g = tape.gradient(loss, wide_part.trainable_variables + deep_part.trainable_variables)
    opt_w.apply_gradients(zip(g[:nw], wide_part.trainable_variables))
    opt_d.apply_gradients(zip(g[nw:], deep_part.trainable_variables))
    return loss


ds = tf.data.Dataset.from_tensor_slices((wide[:6400], num[:6400], y[:6400])).shuffle(6400, seed=1).batch(64)
auc = keras.metrics.AUC(from_logits=True)
for epoch in range(12):
    mean = keras.metrics.Mean()
    for batch in ds:
        mean.update_state(step(*batch))
    auc.reset_state()
    auc.update_state(y[6400:, None], wide_part(wide[6400:]) + deep_part(num[6400:]))
    print(f"epoch {epoch} loss {float(mean.result()):.4f} test auc {float(auc.result()):.4f}")
