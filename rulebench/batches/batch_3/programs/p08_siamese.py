# Siamese net with contrastive loss (Hadsell et al.) on sklearn digits
import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

SEED = 9
MARGIN = 1.0
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)

d = load_digits()
X = (d.images / 16.0).astype("float32")[..., None]
X_train, X_test, y_train, y_test = train_test_split(X, d.target, test_size=0.3, random_state=SEED)


def make_pairs(x, y, per_item):
    idx = [np.where(y == c)[0] for c in range(10)]
    a, b, lab = [], [], []
    for i in range(len(x)):
        for _ in range(per_item):
            a.append(x[i]); b.append(x[rng.choice(idx[y[i]])]); lab.append(0.0)   # same
            other = (y[i] + rng.integers(1, 10)) % 10
            a.append(x[i]); b.append(x[rng.choice(idx[other])]); lab.append(1.0)  # different
    return np.array(a), np.array(b), np.array(lab, dtype="float32")[:, None]


inp = keras.Input((8, 8, 1))
h = layers.Conv2D(16, 3, padding="same", activation="relu")(inp)
h = layers.MaxPooling2D()(h)
h = layers.Conv2D(32, 3, padding="same", activation="relu")(h)
h = layers.Flatten()(h)
h = layers.Dense(32, activation="relu")(h)
tower = keras.Model(inp, layers.Dense(8)(h), name="tower")

left, right = keras.Input((8, 8, 1)), keras.Input((8, 8, 1))


def distance(t):
    s = ops.sum(ops.square(t[0] - t[1]), axis=1, keepdims=True)
    return ops.sqrt(ops.maximum(s, keras.config.epsilon()))


dist = layers.Lambda(distance, output_shape=(1,))([tower(left), tower(right)])
siamese = keras.Model([left, right], dist)


def contrastive(y_true, y_pred):
    pull = (1 - y_true) * ops.square(y_pred)
    push = y_true * ops.square(ops.maximum(MARGIN - y_pred, 0))
    return ops.mean(pull + push)


siamese.compile(optimizer=keras.optimizers.RMSprop(1e-3), loss=contrastive)
A, B, L = make_pairs(X_train, y_train, 1)
VA, VB, VL = make_pairs(X_test, y_test, 1)
siamese.fit([A, B], L, validation_data=([VA, VB], VL), batch_size=64, epochs=10, verbose=2)

dv = siamese.predict([VA, VB], verbose=0)
print("pair accuracy:", float(((dv > MARGIN / 2) == (VL > 0.5)).mean()))
knn = KNeighborsClassifier(5).fit(tower.predict(X_train, verbose=0), y_train)
print("knn accuracy on embeddings:", knn.score(tower.predict(X_test, verbose=0), y_test))
