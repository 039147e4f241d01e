import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import RobustScaler

# "SVM in Keras": a kernel machine with random fourier features, as asked in the exercise sheet.
SEED = 13
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)
data = load_breast_cancer()
y = np.where(data.target == 1, 1.0, -1.0).astype("float32")
Xtr, Xte, ytr, yte = train_test_split(data.data, y, test_size=0.3, random_state=SEED, stratify=y)
s = RobustScaler().fit(Xtr)
Xtr, Xte = s.transform(Xtr), s.transform(Xte)

D, gamma = 500, 0.01
W = rng.normal(size=(Xtr.shape[1], D)) * np.sqrt(2 * gamma)
b = rng.uniform(0, 2 * np.pi, D)
phi = lambda A: (np.sqrt(2.0) * np.cos(A @ W + b)).astype("float32")

svm = keras.Sequential([
    layers.Input((D,)),
    layers.Dense(1, kernel_initializer="zeros", kernel_regularizer=keras.regularizers.L2(1e-3)),
])


def sign_acc(t, p):
    return keras.ops.mean(keras.ops.cast(keras.ops.sign(p) == t, "float32"))


svm.compile(optimizer=keras.optimizers.SGD(0.01), loss="squared_hinge", metrics=[sign_acc])
svm.fit(phi(Xtr), ytr.reshape(-1, 1), epochs=100, batch_size=16, verbose=0,
        callbacks=[keras.callbacks.LambdaCallback(
            on_epoch_end=lambda e, l: print(e, {k: round(float(v), 4) for k, v in l.items()}) if e % 10 == 0 else None)])
p = svm.predict(phi(Xte), verbose=0).ravel()
print("majority class: %.3f" % max((yte == 1).mean(), (yte == -1).mean()))
print("test accuracy: %.3f" % (np.sign(p) == yte).mean())
