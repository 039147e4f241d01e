import os
os.environ["KERAS_BACKEND"] = "jax"
import argparse
import numpy as np
import keras
from keras import layers

TOPICS, VOCAB, LENGTH = 20, 400, 16


def make_corpus(n, seed):
    r = np.random.default_rng(seed)
    base = np.random.default_rng(0).dirichlet(np.full(VOCAB - 1, 0.06), TOPICS)
    y = r.integers(0, TOPICS, n)
    common = np.random.default_rng(1).dirichlet(np.full(VOCAB - 1, 0.5))
    x = np.stack([1 + r.choice(VOCAB - 1, LENGTH, p=0.35 * base[t] + 0.65 * common) for t in y])
    return x.astype("int32"), y.astype("int32")


@keras.saving.register_keras_serializable()
class BagOfEmbeddings(layers.Layer):
    def __init__(self, vocab, dim, **kw):
        super().__init__(**kw)
        self.emb = layers.Embedding(vocab, dim)
        self.score = layers.Dense(1)

    def call(self, ids):
        e = self.emb(ids)
        w = keras.ops.softmax(self.score(e), axis=1)
        return keras.ops.sum(w * e, axis=1)


def build_model(dim=32):
    inp = keras.Input((LENGTH,), dtype="int32")
    h = BagOfEmbeddings(VOCAB, dim)(inp)
    h = layers.Dense(64, activation="relu")(h)
    out = layers.Dense(TOPICS, activation="softmax")(h)
    return keras.Model(inp, out)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--lr", type=float, default=0.2)
    args = ap.parse_args()
    keras.utils.set_random_seed(0)
    xtr, ytr = make_corpus(6000, 2)
    xva, yva = make_corpus(1500, 3)
    model = build_model()
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(args.lr, momentum=0.9, nesterov=True), loss, metrics=["accuracy"])
    model.fit(xtr, ytr, validation_data=(xva, yva), epochs=args.epochs, batch_size=args.batch_size, verbose=2,
              callbacks=[keras.callbacks.ReduceLROnPlateau(patience=2, factor=0.3)])
    print("majority class share", np.bincount(yva).max() / len(yva))
    print("final val accuracy", model.evaluate(xva, yva, verbose=0)[1])


if __name__ == "__main__":
    main()
