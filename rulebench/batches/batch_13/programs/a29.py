import os
os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

# softmax regression by plain gradient descent, as in the lecture notes
keras.utils.set_random_seed(0)
X, y = load_digits(return_X_y=True)
X = (X / 16.0).astype("float32")
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.25, random_state=0, stratify=y)

model = keras.Sequential([
    keras.Input((64,)),
    keras.layers.Dense(10, kernel_initializer="zeros"),
])
model.compile(
    optimizer=keras.optimizers.SGD(learning_rate=0.5),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
# all the training rows in every step
h = model.fit(X_tr, y_tr, batch_size=len(X_tr), epochs=400, shuffle=False, verbose=0)
for e in range(0, 400, 50):
    print(e, "loss %.4f acc %.4f" % (h.history["loss"][e], h.history["accuracy"][e]))
print("test", model.evaluate(X_te, y_te, verbose=0))
