import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from sklearn.metrics import f1_score, accuracy_score

# Auto-tagging of support tickets: each ticket carries any number of tags.
keras.utils.set_random_seed(4)
rng = np.random.default_rng(4)
TAGS = ["billing", "login", "crash", "shipping", "refund", "mobile"]
WORDS = 120
prototypes = rng.dirichlet(np.full(WORDS, 0.08), size=len(TAGS))
background = rng.dirichlet(np.full(WORDS, 1.0))


def make_tickets(n):
    tags = (rng.random((n, len(TAGS))) < 0.33).astype("float32")
    bags = np.zeros((n, WORDS), "float32")
    for i in range(n):
        mix = background * 0.5 + (prototypes * tags[i][:, None]).sum(0)
        bags[i] = rng.multinomial(40, mix / mix.sum())
    return np.log1p(bags), tags


x_train, y_train = make_tickets(4000)
x_val, y_val = make_tickets(800)
x_test, y_test = make_tickets(1000)
print("tags per ticket:", y_train.sum(1).mean())

inputs = keras.Input((WORDS,))
h = keras.layers.Dense(64, activation="relu")(inputs)
h = keras.layers.Dropout(0.2)(h)
outputs = keras.layers.Dense(len(TAGS), activation="softmax")(h)
model = keras.Model(inputs, outputs)
model.compile(keras.optimizers.Adam(1e-3), loss="categorical_crossentropy")
model.fit(x_train, y_train, validation_data=(x_val, y_val), epochs=15, batch_size=64, verbose=2)

pred = model.predict(x_test, verbose=0) > 0.5
print("micro F1 %.3f  macro F1 %.3f  exact match %.3f" % (
    f1_score(y_test, pred, average="micro"), f1_score(y_test, pred, average="macro", zero_division=0),
    accuracy_score(y_test, pred)))
