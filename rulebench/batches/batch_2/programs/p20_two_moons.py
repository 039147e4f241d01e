# regularisation lecture, notebook 3: "an MLP on the moons with weight penalties"
import os
os.environ["KERAS_BACKEND"] = "torch"
import keras
from keras import layers, regularizers
from sklearn.datasets import make_moons
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(17)
X, y = make_moons(1200, noise=0.15, random_state=17)
Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=0.3, random_state=17)

reg = regularizers.L1L2(l1=0.02, l2=0.3)
model = keras.Sequential([
    keras.Input((2,)),
    layers.Dense(32, activation="relu", kernel_regularizer=reg),
    layers.Dense(32, activation="relu", kernel_regularizer=reg),
    layers.Dense(1, activation="sigmoid", kernel_regularizer=reg),
])
model.compile(keras.optimizers.Adam(5e-3), "binary_crossentropy", metrics=["accuracy"])


class Every(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        if epoch % 5 == 0:
            print(epoch, "  ".join(f"{k} {v:.4f}" for k, v in logs.items()))


model.fit(Xtr, ytr, validation_data=(Xte, yte), epochs=26, batch_size=64, verbose=0, callbacks=[Every()])
