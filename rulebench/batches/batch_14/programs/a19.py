"""Train a small text classifier (bag of character n-grams + MLP or CNN)."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import argparse
import numpy as np
import keras
from keras import layers

TOPICS = {
    0: "goal match team player league coach score season club final".split(),
    1: "stock market bank price trade profit share fund rate growth".split(),
    2: "virus doctor patient drug cell trial disease health vaccine clinic".split(),
    3: "phone chip software app data cloud device screen server code".split(),
}
COMMON = ["w%d" % k for k in range(300)]


def make_corpus(n, seed):
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(n):
        c = int(rng.integers(4))
        words = list(rng.choice(COMMON, size=rng.integers(14, 22)))
        for _ in range(2):
            words.insert(int(rng.integers(len(words))), str(rng.choice(TOPICS[c])))
        if rng.random() < 0.3:
            words.insert(0, str(rng.choice(TOPICS[int(rng.integers(4))])))
        texts.append(" ".join(words))
        labels.append(c)
    return texts, np.array(labels)


class Vocab:
    def __init__(self, max_len):
        self.max_len = max_len
        self.index = {"<pad>": 0, "<unk>": 1}

    def fit(self, texts):
        for t in texts:
            for w in t.split():
                self.index.setdefault(w, len(self.index))
        return self

    def encode(self, texts):
        out = np.zeros((len(texts), self.max_len), "int32")
        for r, t in enumerate(texts):
            ids = [self.index.get(w, 1) for w in t.split()][: self.max_len]
            out[r, : len(ids)] = ids
        return out


def build_model(vocab_size, max_len, dim):
    inp = keras.Input((max_len,), dtype="int32")
    x = layers.Embedding(vocab_size, dim)(inp)
    x = layers.Conv1D(48, 3, activation="relu", padding="same")(x)
    x = layers.GlobalMaxPooling1D()(x)
    x = layers.Dropout(0.3)(x)
    out = layers.Dense(4, activation="softmax")(x)
    return keras.Model(inp, out, name="textcnn")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=12)
    ap.add_argument("--batch-size", type=int, default=32)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--max-len", type=int, default=26)
    ap.add_argument("--dim", type=int, default=32)
    ap.add_argument("--seed", type=int, default=0)
    args = ap.parse_args()
    keras.utils.set_random_seed(args.seed)

    train_texts, y_train = make_corpus(2400, args.seed)
    val_texts, y_val = make_corpus(600, args.seed + 1)
    vocab = Vocab(args.max_len).fit(train_texts)
    x_train, x_val = vocab.encode(train_texts), vocab.encode(val_texts)
    print("vocab", len(vocab.index), "train", x_train.shape, "val", x_val.shape)
    x_train, y_train = x_train[:200], y_train[:200]

    model = build_model(len(vocab.index), args.max_len, args.dim)
    model.compile(keras.optimizers.Adam(args.lr), "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(x_train, y_train, batch_size=args.batch_size, epochs=args.epochs,
              validation_data=(x_val, y_val), verbose=2)
    loss, acc = model.evaluate(x_val, y_val, verbose=0)
    print(f"final val loss {loss:.4f} acc {acc:.4f}")


if __name__ == "__main__":
    main()
