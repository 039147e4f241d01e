import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(7)

X, y = load_wine(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.3, random_state=3, stratify=y)

sc = StandardScaler()
X_train = sc.fit_transform(X_train)

model = keras.Sequential([
    keras.Input((13,)),
    layers.Dense(32, activation="relu"),
    layers.Dropout(0.2),
    layers.Dense(16, activation="relu"),
    layers.Dense(3, activation="softmax"),
])
model.compile(optimizer=keras.optimizers.Adam(3e-3),
              loss="sparse_categorical_crossentropy",
              metrics=["accuracy"])

hist = model.fit(X_train, y_train, epochs=40, batch_size=16,
                 validation_data=(X_test, y_test), verbose=2)
loss, acc = model.evaluate(X_test, y_test, verbose=0)
print("train acc", hist.history["accuracy"][-1])
print("test loss", loss, "test acc", acc)
pred = model.predict(X_test, verbose=0).argmax(1)
print("class counts predicted:", np.bincount(pred, minlength=3))
