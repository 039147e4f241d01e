import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import keras
from sklearn.datasets import make_friedman1
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(123)

X, y = make_friedman1(n_samples=3000, n_features=10, noise=0.5, random_state=4)
X = (X - 0.5) / 0.29
y = (y - y.mean()) / y.std()
X_train, X_test, y_train, y_test = train_test_split(X.astype("float32"), y.astype("float32"), test_size=0.2, random_state=4)

EPOCHS = 40
BATCH = 32

# start fast, then 5 % less every epoch
lr = keras.optimizers.schedules.ExponentialDecay(
    initial_learning_rate=0.02,
    decay_steps=1,
    decay_rate=0.95,
)

model = keras.Sequential()
model.add(keras.Input(shape=(10,)))
model.add(keras.layers.Dense(64, activation="relu"))
model.add(keras.layers.Dense(64, activation="relu"))
model.add(keras.layers.Dense(1))
model.compile(optimizer=keras.optimizers.SGD(learning_rate=lr, momentum=0.9), loss="mse", metrics=["mae"])

history = model.fit(X_train, y_train, validation_split=0.15, epochs=EPOCHS, batch_size=BATCH, verbose=0)
for i in [0, 1, 2, 5, 10, 20, 39]:
    print("Epoch %d/%d - loss: %.4f - val_loss: %.4f" % (i + 1, EPOCHS, history.history["loss"][i], history.history["val_loss"][i]))

mse, mae = model.evaluate(X_test, y_test, verbose=0)
print("Test MSE: %.4f  R2: %.4f" % (mse, 1 - mse / np.var(y_test)))
