"""Mixture density network for an inverse problem (Bishop's toy), Keras 3 on JAX."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers, ops

SEED = 0
K = 5
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)

t = rng.uniform(0, 1, 3000)
x = t + 0.3 * np.sin(2 * np.pi * t) + rng.uniform(-0.05, 0.05, t.shape)
X = x.astype("float32")[:, None]
Y = t.astype("float32")[:, None]
X_tr, Y_tr, X_va, Y_va = X[:2400], Y[:2400], X[2400:], Y[2400:]


def split(params):
    logit, mu, log_s = ops.split(params, 3, axis=-1)
    return logit, mu, ops.clip(log_s, -4.0, 2.0)


def mdn_nll(y_true, params):
    logit, mu, log_s = split(params)
    log_pi = ops.log_softmax(logit, axis=-1)
    log_n = -0.5 * ((y_true - mu) / ops.exp(log_s)) ** 2 - log_s - 0.5 * np.log(2 * np.pi)
    return -ops.logsumexp(log_pi + log_n, axis=-1)


inp = keras.Input((1,))
h = layers.Dense(64, activation="tanh")(inp)
h = layers.Dense(64, activation="tanh")(h)
logit = layers.Dense(K)(h)
mu = layers.Dense(K, bias_initializer=keras.initializers.RandomUniform(0, 1, seed=SEED))(h)
log_s = layers.Dense(K, bias_initializer=keras.initializers.Constant(-1.0))(h)
out = layers.Concatenate()([logit, mu, log_s])
model = keras.Model(inp, out)

steps = len(X_tr) // 96
sched = keras.optimizers.schedules.CosineDecayRestarts(5e-3, first_decay_steps=10 * steps, t_mul=2.0, m_mul=0.8)
opt = keras.optimizers.Adam(sched, use_ema=True, ema_momentum=0.98, ema_overwrite_frequency=None, clipnorm=5.0)
model.compile(optimizer=opt, loss=mdn_nll)
hist = model.fit(X_tr, Y_tr, batch_size=96, epochs=70, validation_data=(X_va, Y_va), verbose=0)
for e in range(0, 70, 10):
    print("epoch", e, "nll %.3f" % hist.history["loss"][e], "val %.3f" % hist.history["val_loss"][e])
opt.finalize_variable_values(model.trainable_variables)
print("held-out negative log likelihood: %.3f" % model.evaluate(X_va, Y_va, verbose=0))
