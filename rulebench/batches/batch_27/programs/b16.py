"""A damped oscillator solved by a network, without any data:  u'' + 0.4 u' + 4 u = 0,  u(0) = 1, u'(0) = 0."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
import torch

SEED = 1
keras.utils.set_random_seed(SEED)
T_END, C, K = 5.0, 0.4, 4.0

net = keras.Sequential([
    keras.Input((1,)),
    keras.layers.Dense(32, activation=keras.ops.sin),
    keras.layers.Dense(32, activation=keras.ops.sin),
    keras.layers.Dense(1, kernel_initializer="zeros"),
])
optimizer = keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(5e-3, 2500, alpha=0.01))


def u(t):
    # the form satisfies both initial conditions whatever the network says
    return 1.0 + t ** 2 / (1.0 + t ** 2) * net(t)


for step in range(2500):
    t = torch.rand(64, 1) * T_END
    t.requires_grad_(True)
    y = u(t)
    dy, = torch.autograd.grad(y.sum(), t, create_graph=True)
    ddy, = torch.autograd.grad(dy.sum(), t, create_graph=True)
    residual = ddy + C * dy + K * y
    loss = (residual ** 2).mean()
    net.zero_grad()
    loss.backward()
    weights = net.trainable_weights
    grads = [w.value.grad for w in weights]
    with torch.no_grad():
        optimizer.apply(grads, weights)
    if step % 250 == 0:
        print(f"{step:5d}  mean squared residual {loss.item():.3e}")

t = torch.linspace(0, T_END, 400)[:, None]
with torch.no_grad():
    got = u(t).cpu().numpy().ravel()
tt = t.numpy().ravel()
w = np.sqrt(K - C ** 2 / 4)
exact = np.exp(-C * tt / 2) * (np.cos(w * tt) + C / (2 * w) * np.sin(w * tt))
print("relative L2 error against the exact solution: %.4f" % (np.linalg.norm(got - exact) / np.linalg.norm(exact)))
