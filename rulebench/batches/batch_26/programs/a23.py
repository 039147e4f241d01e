import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(2024)

digits = load_digits()
x = digits.images[..., None].astype("float32") / 16.0
y = keras.utils.to_categorical(digits.target, 10)
x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.2, random_state=2024, stratify=digits.target)
print("train", x_train.shape, "test", x_test.shape)

model = keras.Sequential(
    [
        keras.Input(shape=(8, 8, 1)),
        layers.Conv2D(16, kernel_size=3, padding="same", activation="relu"),
        layers.MaxPooling2D(2),
        layers.Conv2D(32, kernel_size=3, padding="same", activation="relu"),
        layers.Flatten(),
        layers.Dropout(0.3),
        layers.Dense(10, activation="softmax"),
    ]
)
model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
history = model.fit(x_train, y_train, batch_size=32, epochs=20, validation_split=0.1, verbose=2,
                    callbacks=[keras.callbacks.EarlyStopping(patience=5, restore_best_weights=True)])
score = model.evaluate(x_test, y_test, verbose=0)
print("Test loss:", round(score[0], 4))
print("Test accuracy:", round(score[1], 4))
