import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(10)
X, y = load_digits(return_X_y=True)
X = (X.reshape(-1, 8, 8, 1) / 8.0 - 1.0).astype("float32")
Xa, Xb, ya, yb = train_test_split(X, y, test_size=0.2, stratify=y, random_state=10)

def block(x, f):
    x = layers.Conv2D(f, 3, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization(momentum=0.9)(x)
    return layers.LeakyReLU(0.1)(x)

inp = keras.Input((8, 8, 1))
x = block(inp, 16)
x = layers.MaxPooling2D()(x)
x = block(x, 32)
x = layers.GlobalAveragePooling2D()(x)
out = layers.Dense(10)(x)
m = keras.Model(inp, out)
m.compile(
    optimizer=keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True, weight_decay=1e-4),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=[keras.metrics.SparseCategoricalAccuracy(name="acc")],
)
m.fit(Xa, ya, epochs=12, batch_size=64, validation_data=(Xb, yb), verbose=2)
logits = m.predict(Xb, verbose=0)
probs = np.exp(logits - logits.max(1, keepdims=True))
probs /= probs.sum(1, keepdims=True)
print("test acc", (probs.argmax(1) == yb).mean(), "mean confidence", probs.max(1).mean())
