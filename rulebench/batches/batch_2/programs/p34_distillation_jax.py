"""Knowledge distillation: big teacher, tiny student (Keras on JAX).

The student only ever sees the teacher's softened probabilities.
"""
import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

keras.utils.set_random_seed(20)
X, y = load_digits(return_X_y=True)
X = ((X - 8) / 8).astype("float32")
a, b = slice(0, 1400), slice(1400, None)
T = 4.0

teacher = keras.Sequential([keras.Input((64,)), layers.Dense(128, activation="relu"), layers.Dropout(0.3),
                            layers.Dense(64, activation="relu"), layers.Dense(10)])
teacher.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
teacher.fit(X[a], y[a], epochs=15, batch_size=50, verbose=0)
print("teacher test", [round(v, 4) for v in teacher.evaluate(X[b], y[b], verbose=0)])
soft = np.asarray(keras.ops.softmax(teacher.predict(X[a], verbose=0) / T))

i = keras.Input((64,))
logits = layers.Dense(10, name="logits")(layers.Dense(12, activation="relu")(i))
student_t = keras.Model(i, layers.Softmax()(layers.Rescaling(1 / T)(logits)))
student = keras.Model(i, logits)
student_t.compile(keras.optimizers.Adam(5e-3), keras.losses.KLDivergence())
for r in range(5):
    h = student_t.fit(X[a], soft, epochs=10, batch_size=50, verbose=0)
    acc = (student.predict(X[b], verbose=0).argmax(1) == y[b]).mean()
    print(f"student after {10 * (r + 1)} epochs: kl {h.history['loss'][-1]:.5f} test acc {acc:.3f}")
