# Siamese network with contrastive loss (Keras 3 / JAX)
import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

SEED = 66
keras.utils.set_random_seed(SEED)
MARGIN = 1.0

digits = load_digits()
order = np.random.permutation(len(digits.target))
x = (digits.images[order] / 16.0).astype("float32")[..., None]
y = digits.target[order]
x_train, y_train, x_test, y_test = x[:1300], y[:1300], x[1300:], y[1300:]


def make_pairs(x, y):
    """one positive and one negative partner for every image"""
    by_class = [np.where(y == c)[0] for c in range(10)]
    left, right, far = [], [], []
    for i in range(len(x)):
        left += [x[i], x[i]]
        other = np.random.choice([c for c in range(10) if c != y[i]])
        right += [x[np.random.choice(by_class[y[i]])], x[np.random.choice(by_class[other])]]
        far += [0.0, 1.0]           # 0 = same digit, 1 = different
    return [np.array(left), np.array(right)], np.array(far, dtype="float32")[:, None]


def contrastive_loss(y_true, dist):
    same = ops.square(dist)
    different = ops.square(ops.maximum(MARGIN - dist, 0.0))
    return ops.mean((1.0 - y_true) * same + y_true * different)


def euclidean(vects):
    a, b = vects
    return ops.sqrt(ops.sum(ops.square(a - b), axis=1, keepdims=True) + 1e-7)


def pair_accuracy(y_true, dist):
    return ops.mean(ops.cast(ops.equal(y_true > 0.5, dist > MARGIN / 2), "float32"))


inp = keras.Input((8, 8, 1))
h = layers.Conv2D(16, 3, activation="relu")(inp)
h = layers.Conv2D(32, 3, activation="relu")(h)
h = layers.Flatten()(h)
h = layers.Dense(64, activation="relu")(h)
embedding = keras.Model(inp, layers.Dense(8)(h))

a, b = keras.Input((8, 8, 1)), keras.Input((8, 8, 1))
siamese = keras.Model([a, b], layers.Lambda(euclidean, output_shape=(1,))([embedding(a), embedding(b)]))
siamese.compile(optimizer=keras.optimizers.RMSprop(1e-3), loss=contrastive_loss, metrics=[pair_accuracy])

test_pairs, test_far = make_pairs(x_test, y_test)
for round_ in range(8):             # new partners every two epochs
    pairs, far = make_pairs(x_train, y_train)
    siamese.fit(pairs, far, batch_size=64, epochs=2, verbose=2)

print("test pairs (loss, accuracy):", siamese.evaluate(test_pairs, test_far, verbose=0))
knn = KNeighborsClassifier(3).fit(embedding.predict(x_train, verbose=0), y_train)
print("3-NN accuracy in the embedding: %.3f" % knn.score(embedding.predict(x_test, verbose=0), y_test))
