# Mixture density network: p(y|x) for a measurement with two branches and small noise.
import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import ops

SEED = 5
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)
K = 3


def sample(n):
    x = rng.uniform(-1, 1, (n, 1))
    branch = rng.choice([-1.0, 1.0], (n, 1))
    y = branch * 0.15 * (1.2 + np.sin(3 * x)) + rng.normal(0, 0.012, (n, 1))
    return x.astype("float32"), y.astype("float32")


def mdn_nll(y, p):
    logits, mu, raw = ops.split(p, 3, axis=-1)
    log_sigma = ops.clip(raw, -6.0, 3.0)
    comp = -0.5 * ops.square((y - mu) / ops.exp(log_sigma)) - log_sigma - 0.5 * np.log(2 * np.pi)
    return -ops.logsumexp(ops.log_softmax(logits, axis=-1) + comp, axis=-1)


x_tr, y_tr = sample(4000)
x_te, y_te = sample(1000)
model = keras.Sequential([
    keras.Input((1,)),
    keras.layers.Dense(48, activation="tanh"),
    keras.layers.Dense(48, activation="tanh"),
    keras.layers.Dense(3 * K),
])
model.compile(keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(3e-3, 1200), clipnorm=5.0), loss=mdn_nll)
h = model.fit(x_tr, y_tr, batch_size=100, epochs=30, validation_data=(x_te, y_te), verbose=0)
for e in range(0, 30, 5):
    print("epoch %2d  nll %.3f  val nll %.3f" % (e, h.history["loss"][e], h.history["val_loss"][e]))
# a single gaussian around the mean, for comparison
s = y_tr.std()
base = float(np.mean(0.5 * (y_te / s) ** 2 + np.log(s) + 0.5 * np.log(2 * np.pi)))
print("baseline gaussian nll %.3f" % base)
print("test nll %.3f" % model.evaluate(x_te, y_te, verbose=0))
