import os
os.environ["KERAS_BACKEND"] = "torch"

import keras
from keras import layers, regularizers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(5)
images, target = load_digits(return_X_y=True)
images = images.reshape(-1, 8, 8, 1).astype("float32") / 16
xtr, xte, ytr, yte = train_test_split(images, keras.utils.to_categorical(target, 10), test_size=0.25, random_state=5)

# The model overfits without regularisation, so every kernel gets L2
reg = regularizers.L2(0.3)
model = keras.Sequential([
    keras.Input((8, 8, 1)),
    layers.Conv2D(12, 3, activation="relu", kernel_regularizer=reg),
    layers.Conv2D(24, 3, activation="relu", kernel_regularizer=reg),
    layers.Flatten(),
    layers.Dense(40, activation="relu", kernel_regularizer=reg),
    layers.Dense(10, activation="softmax", kernel_regularizer=reg),
])
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss=keras.losses.CategoricalCrossentropy(label_smoothing=0.0))

for block in range(5):
    h = model.fit(xtr, ytr, epochs=3, batch_size=64, verbose=0)
    print(f"epochs {3 * block + 3:2d}: loss {h.history['loss'][-1]:.4f}")

pred = model.predict(xte, verbose=0).argmax(-1)
print("test accuracy:", float((pred == yte.argmax(-1)).mean()))
