import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import argparse
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_classification
from sklearn.metrics import average_precision_score, recall_score


def data(seed):
    return make_classification(6000, 12, n_informative=5, weights=[0.95], class_sep=1.2, flip_y=0.01, random_state=seed)


def focal(gamma):
    def loss(y, p):
        return keras.losses.binary_focal_crossentropy(y, p, gamma=gamma)
    return loss


def model_fn(d, prior):
    bias = keras.initializers.Constant(np.log(prior / (1 - prior)))
    norm = layers.Normalization()
    m = keras.Sequential([layers.Input((d,)), norm, layers.Dense(32, activation="relu"),
                          layers.Dense(16, activation="relu"),
                          layers.Dense(1, activation="sigmoid", bias_initializer=bias)])
    return m, norm


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--gamma", type=float, default=1.0)
    ap.add_argument("--epochs", type=int, default=15)
    args = ap.parse_args()
    keras.utils.set_random_seed(4)
    X, y = data(2)
    X = (X * 100 + 5000).astype("float32")
    tr, te = slice(0, 4500), slice(4500, None)
    prior = y[tr].mean()
    m, norm = model_fn(X.shape[1], prior)
    norm.adapt(X[tr])
    m.compile(optimizer=keras.optimizers.Adam(1e-3), loss=focal(args.gamma),
              metrics=[keras.metrics.AUC(curve="PR", name="ap")])
    w = {0: 1.0, 1: float((1 - prior) / prior) ** 0.5}
    m.fit(X[tr], y[tr, None], class_weight=w, epochs=args.epochs, batch_size=64,
          validation_data=(X[te], y[te, None]), verbose=2)
    p = m.predict(X[te], verbose=0)[:, 0]
    print("AP", average_precision_score(y[te], p), "prevalence", y[te].mean())
    print("recall at 0.5", recall_score(y[te], p > 0.5))


if __name__ == "__main__":
    main()
