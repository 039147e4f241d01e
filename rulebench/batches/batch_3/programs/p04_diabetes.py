# predict disease progression (sklearn diabetes) with a custom loop in tensorflow
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import tensorflow as tf
import keras
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

SEED = 1
keras.utils.set_random_seed(SEED)

X, y = load_diabetes(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=SEED)
sc = StandardScaler().fit(X_train)
X_train = sc.transform(X_train).astype(np.float32)
X_test = sc.transform(X_test).astype(np.float32)
mu, sd = y_train.mean(), y_train.std()
y_train_n = ((y_train - mu) / sd).astype(np.float32)

ds = tf.data.Dataset.from_tensor_slices((X_train, y_train_n))
ds = ds.shuffle(500, seed=SEED).batch(32)

model = keras.Sequential([
    keras.layers.Input((10,)),
    keras.layers.Dense(32, activation="relu"),
    keras.layers.Dense(16, activation="relu"),
    keras.layers.Dense(1),
])
opt = keras.optimizers.Adam(1e-3)


@tf.function
def train_step(xb, yb):
    with tf.GradientTape() as tape:
        pred = model(xb, training=True)
        loss = tf.reduce_mean(tf.square(yb - pred))
    grads = tape.gradient(loss, model.trainable_variables)
    opt.apply_gradients(zip(grads, model.trainable_variables))
    return loss


for epoch in range(40):
    losses = []
    for xb, yb in ds:
        losses.append(float(train_step(xb, yb)))
    if epoch % 10 == 0 or epoch == 39:
        print("epoch", epoch, "loss", np.mean(losses))

pred = model.predict(X_test, verbose=0).ravel() * sd + mu
rmse = np.sqrt(np.mean((pred - y_test) ** 2))
r2 = 1 - np.sum((pred - y_test) ** 2) / np.sum((y_test - y_test.mean()) ** 2)
print("test rmse %.2f  r2 %.3f" % (rmse, r2))
