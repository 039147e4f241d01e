import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from sklearn.metrics import f1_score

SEED = 16
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)

# Tagging recipes: each recipe gets from one to four of eight tags, from its bag of ingredients.
TAGS = ["vegan", "quick", "spicy", "dessert", "italian", "grill", "soup", "festive"]
N_ING = 150
hints = [rng.choice(N_ING, 10, replace=False) for _ in TAGS]


def recipes(n):
    y = np.zeros((n, len(TAGS)), "float32")
    x = (rng.random((n, N_ING)) < 0.04).astype("float32")
    for i in range(n):
        for t in rng.choice(len(TAGS), rng.integers(1, 5), replace=False):
            y[i, t] = 1
            x[i, hints[t][rng.random(10) < 0.45]] = 1
    return x, y


x_train, y_train = recipes(4000)
x_test, y_test = recipes(1000)
print("tags per recipe:", y_train.sum(1).mean().round(2))

model = keras.Sequential([
    keras.layers.Input((N_ING,)),
    keras.layers.Dense(64, activation="relu"),
    keras.layers.Dropout(0.3),
    keras.layers.Dense(len(TAGS), activation="softmax"),
])
model.compile("adam", loss="categorical_crossentropy", metrics=["categorical_accuracy"])
model.fit(x_train, y_train, epochs=15, batch_size=64, validation_split=0.1, verbose=2)

prob = model.predict(x_test, verbose=0)
pred = prob > 0.5
print("tags predicted per recipe:", pred.sum(1).mean().round(2))
for t, name in enumerate(TAGS):
    print(f"  {name:8s} F1 {f1_score(y_test[:, t], pred[:, t], zero_division=0):.3f}")
print("micro F1 %.4f   all tags right %.4f" % (
    f1_score(y_test, pred, average="micro", zero_division=0), (pred == (y_test > 0.5)).all(1).mean()))
