"""Physics-informed net for a damped oscillator: x'' + 0.4 x' + 4 x = 0, x(0)=1, x'(0)=0.

No data at all, only the equation residual and the initial condition.
"""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
import keras

keras.utils.set_random_seed(1)
net = keras.Sequential([keras.Input((1,)), keras.layers.Dense(32, "tanh"),
                        keras.layers.Dense(32, "tanh"), keras.layers.Dense(1)])
opt = keras.optimizers.Adam(keras.optimizers.schedules.ExponentialDecay(5e-3, 500, 0.7))
T = 3.0


@tf.function
def train_step(t):
    t0 = tf.zeros((1, 1))
    with tf.GradientTape() as tape:
        with tf.GradientTape() as t2:
            t2.watch(t)
            with tf.GradientTape() as t1:
                t1.watch(t)
                x = net(t * 2 / T - 1)
            dx = t1.gradient(x, t)
        ddx = t2.gradient(dx, t)
        with tf.GradientTape() as ti:
            ti.watch(t0)
            x0 = net(t0 * 2 / T - 1)
        v0 = ti.gradient(x0, t0)
        res = tf.reduce_mean((ddx + 0.4 * dx + 4 * x) ** 2)
        ic = tf.reduce_sum((x0 - 1) ** 2) + tf.reduce_sum(v0 ** 2)
        loss = res + 20 * ic
    g = tape.gradient(loss, net.trainable_variables)
    opt.apply_gradients(zip(g, net.trainable_variables))
    return res, ic


for step in range(2500):
    res, ic = train_step(tf.random.uniform((64, 1), 0, T))
    if step % 250 == 0:
        print(f"{step:5d} residual {res.numpy():.5f} initial {ic.numpy():.6f}")
t = np.linspace(0, T, 50)
w = np.sqrt(4 - 0.04)
exact = np.exp(-0.2 * t) * (np.cos(w * t) + 0.2 / w * np.sin(w * t))
pred = net((t * 2 / T - 1)[:, None].astype("float32")).numpy()[:, 0]
print("max error", np.abs(pred - exact).max())
