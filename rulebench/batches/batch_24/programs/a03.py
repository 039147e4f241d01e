import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(5)

IMG = 16
EPOCHS = 12


def load():
    d = load_digits()
    imgs = np.kron(d.images, np.ones((1, 2, 2)))          # 8x8 -> 16x16
    imgs = np.clip(imgs * 16, 0, 255).astype("uint8")      # like camera frames
    return train_test_split(imgs[..., None], d.target, test_size=0.2,
                            random_state=0, stratify=d.target)


def prepare(image, label):
    image = tf.image.convert_image_dtype(image, tf.float32)
    return image, label


x_tr, x_te, y_tr, y_te = load()
train_ds = (tf.data.Dataset.from_tensor_slices((x_tr, y_tr))
            .shuffle(2000, seed=1).map(prepare).batch(32).prefetch(2))
test_ds = tf.data.Dataset.from_tensor_slices((x_te, y_te)).map(prepare).batch(128)

model = keras.Sequential([
    keras.Input((IMG, IMG, 1)),
    layers.Rescaling(1.0 / 255),
    layers.Conv2D(16, 3, activation="relu"),
    layers.MaxPooling2D(),
    layers.Conv2D(32, 3, activation="relu"),
    layers.MaxPooling2D(),
    layers.Flatten(),
    layers.Dense(64, activation="relu"),
    layers.Dense(10, activation="softmax"),
])

model.compile(
    optimizer=keras.optimizers.SGD(0.05, momentum=0.9),
    loss="sparse_categorical_crossentropy",
    metrics=["accuracy"],
)
model.fit(train_ds, validation_data=test_ds, epochs=EPOCHS, verbose=2)

loss, acc = model.evaluate(test_ds, verbose=0)
print(f"final test loss {loss:.3f} accuracy {acc:.3f}")
for images, labels in test_ds.take(1):
    p = model.predict(images[:12], verbose=0)
    print("predicted", p.argmax(-1))
    print("actual   ", labels[:12].numpy())
