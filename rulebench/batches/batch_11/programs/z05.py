import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

num_classes = 10
batch_size = 64
epochs = 10


def load_images():
    d = load_digits()
    images = np.kron(d.images / 16.0, np.ones((1, 2, 2)))
    images = np.round(255 * images).astype("uint8")
    return train_test_split(images, d.target, test_size=0.3, random_state=1, stratify=d.target)


def preprocess(images):
    return np.expand_dims(images, -1).astype("float32") / 255.0


class ConvNet(keras.Model):
    def __init__(self):
        super().__init__()
        self.convs = [layers.Conv2D(16, 3), layers.BatchNormalization(momentum=0.9), layers.ReLU(), layers.MaxPooling2D(2),
                      layers.Conv2D(32, 3), layers.BatchNormalization(momentum=0.9), layers.ReLU(), layers.MaxPooling2D(2)]
        self.flatten = layers.Flatten()
        self.drop = layers.Dropout(0.4)
        self.fc = layers.Dense(num_classes, activation="softmax")

    def call(self, x, training=False):
        for l in self.convs:
            x = l(x, training=training) if isinstance(l, layers.BatchNormalization) else l(x)
        return self.fc(self.drop(self.flatten(x), training=training))


def main():
    keras.utils.set_random_seed(12)
    x_train, x_test, y_train, y_test = load_images()
    x_train = preprocess(x_train)
    x_test = np.expand_dims(x_test, -1).astype("float32")
    y_train = keras.utils.to_categorical(y_train, num_classes)
    y_test = keras.utils.to_categorical(y_test, num_classes)
    print("classes", np.bincount(y_train.argmax(1)).tolist())
    print("train samples", len(x_train), "test samples", len(x_test))
    print("x_train", x_train.shape, "x_test", x_test.shape)
    model = ConvNet()
    model.compile(loss="categorical_crossentropy", optimizer=keras.optimizers.Adam(2e-3), metrics=["accuracy"])
    stop = keras.callbacks.EarlyStopping(monitor="val_accuracy", mode="max", patience=4, restore_best_weights=True)
    model.fit(x_train, y_train, batch_size=batch_size, epochs=epochs, validation_data=(x_test, y_test), callbacks=[stop], verbose=2)
    score = model.evaluate(x_test, y_test, verbose=0)
    print("Test loss:", score[0])
    print("Test accuracy:", score[1])


if __name__ == "__main__":
    main()
