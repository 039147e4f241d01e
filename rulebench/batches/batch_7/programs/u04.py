import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(90)
X, y = load_iris(return_X_y=True)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.3, stratify=y, random_state=9)
norm = layers.Normalization()
norm.adapt(X_tr)

BATCH = 4
steps = int(np.ceil(len(X_tr) / BATCH))
lr = keras.optimizers.schedules.CosineDecayRestarts(0.1, first_decay_steps=10 * steps, t_mul=1.0, m_mul=0.9)
model = keras.Sequential([keras.Input((4,)), norm, layers.Dense(16, activation="tanh"), layers.Dense(3, activation="softmax")])
model.compile(keras.optimizers.SGD(lr), "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(X_tr, y_tr, batch_size=BATCH, epochs=30, validation_data=(X_te, y_te), verbose=2)
print(model.evaluate(X_te, y_te, verbose=0))
