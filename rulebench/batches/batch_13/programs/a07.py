import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_circles
from sklearn.model_selection import train_test_split

# random Fourier features: the first layer stays as drawn, only the read-out is learnt
keras.utils.set_random_seed(2)
X, y = make_circles(1500, noise=0.12, factor=0.45, random_state=2)
X_tr, X_te, y_tr, y_te = train_test_split(X.astype("float32"), y, test_size=0.3, random_state=2)

D, gamma = 300, 2.0
phase = keras.initializers.RandomUniform(0.0, 2 * np.pi, seed=4)
lift = layers.Dense(D, activation=keras.ops.cos, trainable=False,
                    kernel_initializer=keras.initializers.RandomNormal(stddev=np.sqrt(2 * gamma), seed=3),
                    bias_initializer=phase)

model = keras.Sequential([
    layers.Input((2,)),
    lift,
    layers.Rescaling(np.sqrt(2.0 / D)),
    layers.Dense(1),
])
model.compile(optimizer=keras.optimizers.Adam(0.03), loss="hinge", metrics=[])
model.summary()

model.fit(X_tr, 2 * y_tr - 1, epochs=20, batch_size=32, verbose=2)

for name, a, b in (("train", X_tr, y_tr), ("test", X_te, y_te)):
    pred = model.predict(a, verbose=0).ravel() > 0
    print(name, "accuracy", (pred == b).mean())
