import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
from keras import layers
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(4)

wine = load_wine()
X_train, X_test, y_train, y_test = train_test_split(
    wine.data.astype("float32"), wine.target, test_size=0.25, random_state=4, stratify=wine.target)

# one-hot targets because I want to add a fourth class later
Y_train = keras.utils.to_categorical(y_train, 3)
Y_test = keras.utils.to_categorical(y_test, 3)

model = keras.Sequential([
    keras.Input((13,)),
    layers.Dense(32, activation="relu"),
    layers.Dense(16, activation="relu"),
    layers.Dense(3, activation="softmax"),
])
model.compile(optimizer=keras.optimizers.SGD(0.01, momentum=0.9),
              loss="categorical_crossentropy", metrics=["accuracy"])
history = model.fit(X_train, Y_train, epochs=60, batch_size=16, verbose=0,
                    validation_data=(X_test, Y_test))
for e in range(0, 60, 10):
    print("epoch", e, {k: round(float(v[e]), 4) for k, v in history.history.items()})
print("test:", model.evaluate(X_test, Y_test, verbose=0))
