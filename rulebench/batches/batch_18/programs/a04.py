import os
os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(0)
X, y = load_wine(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X.astype("float32"), y, test_size=0.3,
                                                    stratify=y, random_state=0)

norm = layers.Normalization()
norm.adapt(X_train)

model = keras.Sequential([
    keras.Input((13,)),
    norm,
    layers.Dense(16, activation="elu"),
    layers.Dense(3),
])
model.compile(
    optimizer=keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.fit(X_train, y_train, epochs=25, batch_size=16, verbose=2)

logits = model.predict(X_test, verbose=0)
print("logits go from %.2f to %.2f" % (logits.min(), logits.max()))
print("test accuracy %.3f" % np.mean(logits.argmax(1) == y_test))
