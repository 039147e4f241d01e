import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(55)

digits = load_digits()
images = (digits.images / 16.0).astype("float32")[..., None]
x_train, x_test, y_train, y_test = train_test_split(
    images, digits.target, test_size=0.25, random_state=55, stratify=digits.target
)


def conv_bn(x, filters):
    x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization(momentum=0.9)(x)
    return layers.ReLU()(x)


inputs = keras.Input((8, 8, 1))
x = conv_bn(inputs, 12)
x = layers.MaxPooling2D()(x)
x = conv_bn(x, 24)
x = layers.Flatten()(x)
x = layers.Dropout(0.3)(x)
outputs = layers.Dense(10)(x)
model = keras.Model(inputs, outputs)

epochs, batch_size = 8, 48
steps = epochs * (len(x_train) // batch_size + 1)
lr = keras.optimizers.schedules.CosineDecay(
    initial_learning_rate=1e-4,
    warmup_target=4e-3,
    warmup_steps=steps // 10,
    decay_steps=steps - steps // 10,
)
model.compile(
    optimizer=keras.optimizers.Adam(lr),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.fit(
    x_train, y_train,
    validation_split=0.1, epochs=epochs, batch_size=batch_size, verbose=2,
)
loss, acc = model.evaluate(x_test, y_test, verbose=0)
print(f"test: loss {loss:.4f} accuracy {acc:.4f}")

pred = model.predict(x_test, verbose=0).argmax(-1)
confusion = np.zeros((10, 10), int)
np.add.at(confusion, (y_test, pred), 1)
print(confusion)
