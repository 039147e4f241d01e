"""Node classification with a two-layer GCN on a stochastic block model (transductive)."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import argparse
import numpy as np
import keras
from keras import layers, ops


def sbm(n, k, p_in, p_out, rng):
    y = rng.integers(0, k, n)
    prob = np.where(y[:, None] == y[None, :], p_in, p_out)
    a = np.triu(rng.random((n, n)) < prob, 1)
    a = (a | a.T).astype("float32")
    x = rng.normal(size=(n, 16)).astype("float32")
    x[:, :k] += 1.0 * np.eye(k)[y]
    return a, x, y


def normalise(a):
    a = a + np.eye(len(a), dtype=a.dtype)
    d = 1 / np.sqrt(a.sum(1))
    return a * d[:, None] * d[None, :]


class GraphConv(layers.Layer):
    def __init__(self, units, adj, activation=None, **kw):
        super().__init__(**kw)
        self.units, self.act = units, keras.activations.get(activation)
        self.adj = ops.convert_to_tensor(adj)

    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], self.units), initializer="glorot_uniform", name="w")
        self.b = self.add_weight(shape=(self.units,), initializer="zeros", name="b")

    def call(self, x):
        return self.act(ops.matmul(self.adj, ops.matmul(x, self.w)) + self.b)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--nodes", type=int, default=600)
    p.add_argument("--classes", type=int, default=4)
    p.add_argument("--labels-per-class", type=int, default=12)
    p.add_argument("--epochs", type=int, default=150)
    a = p.parse_args()
    keras.utils.set_random_seed(8)
    rng = np.random.default_rng(8)
    adj, x, y = sbm(a.nodes, a.classes, 0.05, 0.006, rng)
    perm = rng.permutation(a.nodes)
    train = np.concatenate([perm[y[perm] == c][:a.labels_per_class] for c in range(a.classes)])
    rest = np.setdiff1d(perm, train)
    val, test = rest[:150], rest[150:]
    masks = {k: np.zeros(a.nodes, "float32") for k in ("train", "val", "test")}
    masks["train"][train] = masks["val"][val] = masks["test"][test] = 1

    adj = normalise(adj)
    inp = keras.Input(batch_shape=(a.nodes, 16))
    h = layers.Dropout(0.4)(inp)
    h = GraphConv(32, adj, "relu")(h)
    h = layers.Dropout(0.4)(h)
    out = GraphConv(a.classes, adj)(h)
    model = keras.Model(inp, out)
    model.compile(keras.optimizers.Adam(1e-2, weight_decay=5e-4),
                  keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="sum_over_batch_size"),
                  weighted_metrics=["accuracy"])
    # the whole graph is one batch; the masks select the nodes that count
    model.fit(x, y, sample_weight=masks["train"] * a.nodes / masks["train"].sum(),
              batch_size=a.nodes, shuffle=False, epochs=a.epochs, verbose=0,
              validation_data=(x, y, masks["val"]), validation_batch_size=a.nodes,
              callbacks=[keras.callbacks.EarlyStopping("val_accuracy", mode="max", patience=60,
                                                       restore_best_weights=True)])
    pred = model.predict(x, batch_size=a.nodes, verbose=0).argmax(1)
    for k, m in masks.items():
        print(k, "accuracy %.3f" % np.mean(pred[m > 0] == y[m > 0]))


if __name__ == "__main__":
    main()
