import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import tensorflow as tf
import keras
from keras import layers

# PINN for the heat equation u_t = a u_xx on x in [0,1], t in [0,1]
# u(x,0) = sin(pi x), u(0,t) = u(1,t) = 0
# exact solution: exp(-a pi^2 t) sin(pi x)
keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
ALPHA = 0.1

net = keras.Sequential([
    layers.Input((2,)),
    layers.Dense(24, activation="tanh"),
    layers.Dense(24, activation="tanh"),
    layers.Dense(1),
])
opt = keras.optimizers.Adam(5e-3)


def u(x, t):
    return net(tf.concat([x, t], axis=1))


def residual(x, t):
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape(persistent=True) as inner:
            inner.watch([x, t])
            val = u(x, t)
        ux = inner.gradient(val, x)
        ut = inner.gradient(val, t)
    uxx = outer.gradient(ux, x)
    return ut - ALPHA * uxx


@tf.function
def train_step(xc, tc, x0, tb):
    with tf.GradientTape() as tape:
        loss_pde = tf.reduce_mean(tf.square(residual(xc, tc)))
        u0 = u(tf.zeros_like(x0), x0)
        loss_ic = tf.reduce_mean(tf.square(u0 - tf.sin(np.pi * x0)))
        left = u(tf.zeros_like(tb), tb)
        right = u(tf.ones_like(tb), tb)
        loss_bc = tf.reduce_mean(tf.square(left)) + tf.reduce_mean(tf.square(right))
        loss = loss_pde + 10 * loss_ic + 10 * loss_bc
    grads = tape.gradient(loss, net.trainable_variables)
    opt.apply_gradients(zip(grads, net.trainable_variables))
    return loss, loss_pde, loss_ic, loss_bc


def sample(n):
    return tf.constant(rng.uniform(0, 1, (n, 1)).astype("float32"))


for step in range(1501):
    losses = train_step(sample(128), sample(128), sample(64), sample(64))
    if step % 250 == 0:
        print(step, *["%.5f" % float(v) for v in losses])

g = np.linspace(0, 1, 41, dtype="float32")
xx, tt = np.meshgrid(g, g)
pred = net.predict(np.stack([xx.ravel(), tt.ravel()], 1), verbose=0).reshape(xx.shape)
exact = np.exp(-ALPHA * np.pi ** 2 * tt) * np.sin(np.pi * xx)
print("relative L2 error", np.linalg.norm(pred - exact) / np.linalg.norm(exact))
