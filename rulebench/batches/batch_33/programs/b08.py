"""Physics-informed network for a damped oscillator  u'' + 2 d u' + w^2 u = 0,  u(0)=1, u'(0)=0.
There is no data set: the net is fitted on the residual of the equation at random times."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
import keras

SEED = 0
keras.utils.set_random_seed(SEED)
d, w0 = 0.6, 4.0
T_END = 2.0

net = keras.Sequential([keras.Input((1,)),
                        keras.layers.Dense(32, activation="tanh"),
                        keras.layers.Dense(32, activation="tanh"),
                        keras.layers.Dense(1)])


def u(t):
    # initial conditions are built in:  u = 1 + t^2 * N(t)
    return 1.0 + tf.square(t) * net(t)


def exact(t):
    w = np.sqrt(w0 ** 2 - d ** 2)
    return np.exp(-d * t) * (np.cos(w * t) + d / w * np.sin(w * t))


schedule = keras.optimizers.schedules.CosineDecay(5e-3, 4000, alpha=0.01)
opt = keras.optimizers.Adam(schedule)


@tf.function
def step():
    t = tf.random.uniform((128, 1), 0.0, T_END)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as t2:
            t2.watch(t)
            with tf.GradientTape() as t1:
                t1.watch(t)
                y = u(t)
            dy = t1.gradient(y, t)
        ddy = t2.gradient(dy, t)
        residual = ddy + 2 * d * dy + w0 ** 2 * y
        loss = tf.reduce_mean(tf.square(residual))
    g = outer.gradient(loss, net.trainable_variables)
    opt.apply_gradients(zip(g, net.trainable_variables))
    return loss


for i in range(1, 4001):
    loss = step()
    if i == 1 or i % 500 == 0:
        print(f"{i:5d} residual loss {float(loss):.5f}")

t = np.linspace(0, T_END, 400, dtype="float32")[:, None]
err = np.sqrt(np.mean((u(tf.constant(t)).numpy() - exact(t)) ** 2))
print(f"RMSE against the analytic solution: {err:.5f} (signal rms {np.sqrt(np.mean(exact(t) ** 2)):.3f})")
