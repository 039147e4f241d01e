import os
os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np
from sklearn.datasets import load_iris

keras.utils.set_random_seed(8)

x, y = load_iris(return_X_y=True)
order = np.random.permutation(150)
x, y = x[order], y[order]
x = (x - x.mean(axis=0)) / x.std(axis=0)


def mlp(widths, init):
    net = keras.Sequential([keras.Input((4,))])
    for w in widths:
        net.add(keras.layers.Dense(w, activation="relu", kernel_initializer=init, bias_initializer="zeros"))
    net.add(keras.layers.Dense(3, activation="softmax"))
    return net


# fixed init so that everybody in class gets the same curve
model = mlp([16, 16], init=keras.initializers.Constant(0.0))
model.compile(optimizer=keras.optimizers.Adam(0.01), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
hist = model.fit(x[:120], y[:120], validation_data=(x[120:], y[120:]), epochs=50, batch_size=12, verbose=0)
for e in range(0, 50, 7):
    print(f"epoch {e:2d}  loss {hist.history['loss'][e]:.4f}  acc {hist.history['accuracy'][e]:.3f}  val_acc {hist.history['val_accuracy'][e]:.3f}")
