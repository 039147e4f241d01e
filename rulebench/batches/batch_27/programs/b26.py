import os

os.environ["KERAS_BACKEND"] = "jax"

import keras
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 0
keras.utils.set_random_seed(SEED)
data = load_digits()
x = data.images[..., None].astype("float32") / 16.0
y = keras.utils.to_categorical(data.target, 10)
x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.25, random_state=SEED, stratify=data.target)
print(x_train.shape, "train samples;", x_test.shape, "test samples")

model = keras.Sequential(
    [
        keras.Input(shape=(8, 8, 1)),
        keras.layers.Conv2D(16, kernel_size=3, padding="same", activation="relu"),
        keras.layers.MaxPooling2D(pool_size=2),
        keras.layers.Conv2D(32, kernel_size=3, padding="same", activation="relu"),
        keras.layers.MaxPooling2D(pool_size=2),
        keras.layers.Flatten(),
        keras.layers.Dropout(0.3),
        keras.layers.Dense(10, activation="softmax"),
    ]
)
model.compile(loss="categorical_crossentropy", optimizer=keras.optimizers.Adam(3e-3), metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=64, epochs=25, validation_split=0.1, verbose=2)
score = model.evaluate(x_test, y_test, verbose=0)
print("Test loss:", score[0])
print("Test accuracy:", score[1])
