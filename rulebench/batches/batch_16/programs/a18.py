import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers

# which of two bracket grammars does a sequence of tokens come from?
keras.utils.set_random_seed(3)
rng = np.random.default_rng(3)


def sentence(label):
    n = rng.integers(5, 14)
    s = list(rng.integers(3, 12, n))
    i, j = sorted(rng.choice(n, 2, replace=False))
    s[i], s[j] = (1, 2) if label else (2, 1)
    return s


y = rng.integers(0, 2, 2000)
x = keras.utils.pad_sequences([sentence(l) for l in y], maxlen=14)
x_train, y_train, x_test, y_test = x[:1600], y[:1600], x[1600:], y[1600:]

model = keras.Sequential([
    layers.Input((14,)),
    layers.Embedding(12, 12, mask_zero=True),
    layers.SimpleRNN(24, kernel_regularizer=None),
    layers.Dense(2),
])
model.compile(
    optimizer=keras.optimizers.SGD(0.3, momentum=0.5, clipnorm=1.0),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.fit(x_train, y_train, batch_size=32, epochs=8, validation_data=(x_test, y_test), verbose=2)
print(model.evaluate(x_test, y_test, verbose=0))
