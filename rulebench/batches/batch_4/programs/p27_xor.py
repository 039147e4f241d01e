# The XOR problem, the classic. Four rows, so every step sees all of the data.
import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras.models import Sequential
from keras.layers import Dense, Input
from keras.optimizers import SGD

SEED = 9
keras.utils.set_random_seed(SEED)

X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype="float32")
y = np.array([[0], [1], [1], [0]], dtype="float32")

model = Sequential()
model.add(Input((2,)))
model.add(Dense(8, activation="tanh"))
model.add(Dense(1, activation="sigmoid"))
# small problem, large steps: with the usual 0.01 it takes forever
model.compile(loss="mean_squared_error", optimizer=SGD(learning_rate=1.0, momentum=0.9))

for step in range(1, 1001):
    loss = model.train_on_batch(X, y)
    if step == 1 or step % 100 == 0:
        print("step %4d  loss %.6f" % (step, float(np.asarray(loss).ravel()[0])))

p = model.predict(X, verbose=0)
print(np.c_[X, y, p.round(3)])
print("all right:", bool(((p > 0.5) == y).all()), " max error %.4f" % np.abs(p - y).max())
