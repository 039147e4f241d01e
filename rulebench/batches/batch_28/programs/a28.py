import os
os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
from keras.models import Sequential
from keras.layers import Dense, Input
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler, OneHotEncoder

# Which of three growers does the wine come from?  First Keras model, followed the book.
SEED = 1
keras.utils.set_random_seed(SEED)

wine = load_wine()
X, y = wine.data, wine.target
print(wine.feature_names)

enc = OneHotEncoder(sparse_output=False)
Y = enc.fit_transform(y.reshape(-1, 1))

X_train, X_test, Y_train, Y_test = train_test_split(X, Y, test_size=0.3, random_state=42, stratify=y)

scaler = StandardScaler()
scaler.fit_transform(X_train)
scaler.transform(X_test)

model = Sequential()
model.add(Input(shape=(X.shape[1],)))
model.add(Dense(32, activation="relu"))
model.add(Dense(16, activation="relu"))
model.add(Dense(3, activation="softmax"))

model.compile(loss="categorical_crossentropy", optimizer=keras.optimizers.SGD(learning_rate=0.01, momentum=0.9),
              metrics=["accuracy"])

history = model.fit(X_train, Y_train, epochs=60, batch_size=10, validation_split=0.15, verbose=0)
for e in (0, 1, 2, 5, 10, 20, 40, 59):
    print("epoch", e, " ".join(f"{k} {history.history[k][e]:.3f}" for k in history.history))

loss, acc = model.evaluate(X_test, Y_test, verbose=0)
print("Test loss: %.3f  Test accuracy: %.3f" % (loss, acc))
