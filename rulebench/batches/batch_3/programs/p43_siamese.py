"""Siamese network with contrastive loss (after the keras.io example), digits instead of MNIST."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import random
import numpy as np
import keras
from keras import ops
from sklearn.datasets import load_digits

SEED = 0
MARGIN = 1.0
random.seed(SEED)
keras.utils.set_random_seed(SEED)

d = load_digits()
x = (d.images / 16.0).astype("float32")
x_train, y_train = x[:1200], d.target[:1200]
x_test, y_test = x[1200:], d.target[1200:]


def make_pairs(x, y):
    idx = [np.where(y == i)[0] for i in range(10)]
    pairs, labels = [], []
    for i in range(len(x)):
        pairs.append([x[i], x[random.choice(idx[y[i]])]])
        labels.append(0.0)
        other = random.choice([c for c in range(10) if c != y[i]])
        pairs.append([x[i], x[random.choice(idx[other])]])
        labels.append(1.0)
    return np.array(pairs), np.array(labels, "float32")[:, None]


p_train, l_train = make_pairs(x_train, y_train)
p_test, l_test = make_pairs(x_test, y_test)


class EuclideanDistance(keras.layers.Layer):
    def call(self, ab):
        a, b = ab
        s = ops.sum(ops.square(a - b), axis=1, keepdims=True)
        return ops.sqrt(ops.maximum(s, keras.backend.epsilon()))


def contrastive(y_true, y_pred):
    # 0 = same class, 1 = different class
    near = ops.square(y_pred)
    far = ops.square(ops.maximum(MARGIN - y_pred, 0))
    return ops.mean((1 - y_true) * near + y_true * far)


tower = keras.Sequential([
    keras.Input((8, 8)),
    keras.layers.Reshape((8, 8, 1)),
    keras.layers.Conv2D(8, 3, activation="tanh"),
    keras.layers.AveragePooling2D(2),
    keras.layers.Flatten(),
    keras.layers.Dense(32, activation="tanh"),
    keras.layers.Dense(8),
], name="tower")
a = keras.Input((8, 8))
b = keras.Input((8, 8))
siamese = keras.Model([a, b], EuclideanDistance()([tower(a), tower(b)]))


def same_side(y_true, y_pred):
    return ops.mean(ops.cast(ops.equal(y_true > 0.5, y_pred > MARGIN / 2), "float32"))


siamese.compile(optimizer=keras.optimizers.RMSprop(2e-3), loss=contrastive, metrics=[same_side])
siamese.fit([p_train[:, 0], p_train[:, 1]], l_train, batch_size=32, epochs=12, verbose=2,
            validation_data=([p_test[:, 0], p_test[:, 1]], l_test))
e_tr, e_te = tower.predict(x_train, verbose=0), tower.predict(x_test, verbose=0)
nn = ((e_te[:, None] - e_tr[None]) ** 2).sum(-1).argmin(1)
print("1-NN accuracy in the embedding:", (y_train[nn] == y_test).mean())
