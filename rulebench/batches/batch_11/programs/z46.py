"""Rare-event detection: output bias from the base rate, class weights, early stopping on PR-AUC."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_classification
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import train_test_split

SEED = 4


def load():
    X, y = make_classification(14000, 20, n_informative=8, n_redundant=4, weights=[0.97], class_sep=1.3, flip_y=0.002, random_state=SEED)
    Xa, Xte, ya, yte = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
    Xtr, Xva, ytr, yva = train_test_split(Xa, ya, test_size=0.2, stratify=ya, random_state=0)
    mu, sd = Xtr.mean(0), Xtr.std(0)
    n = lambda a: np.clip((a - mu) / sd, -5, 5).astype("float32")
    return n(Xtr), ytr, n(Xva), yva, n(Xte), yte


def make_model(bias):
    return keras.Sequential([
        keras.Input((20,)), layers.Dense(32, activation="relu"), layers.Dropout(0.3),
        layers.Dense(16, activation="relu"),
        layers.Dense(1, activation="sigmoid", bias_initializer=keras.initializers.Constant(bias))])


def best_threshold(y, p):
    """Threshold with the highest F1 on validation data."""
    best = (0.0, 0.5)
    for t in np.linspace(0.05, 0.99, 95):
        hit = p >= t
        tp = (hit & (y == 1)).sum()
        if tp == 0:
            continue
        precision, recall = tp / hit.sum(), tp / (y == 1).sum()
        best = max(best, (2 * precision * recall / (precision + recall), float(t)))
    return best


def main():
    keras.utils.set_random_seed(SEED)
    Xtr, ytr, Xva, yva, Xte, yte = load()
    pos, neg = ytr.sum(), (ytr == 0).sum()
    print("positives", int(pos), "negatives", int(neg))
    weights = {0: len(ytr) / (2.0 * neg), 1: len(ytr) / (2.0 * pos)}
    model = make_model(float(np.log(pos / neg)))
    model.compile(keras.optimizers.Adam(2e-3), keras.losses.BinaryCrossentropy(),
                  metrics=[keras.metrics.AUC(curve="PR", name="prc"), keras.metrics.Recall(name="recall")])
    stop = keras.callbacks.EarlyStopping(monitor="val_prc", mode="max", patience=5, restore_best_weights=True)
    model.fit(Xtr, ytr, batch_size=256, epochs=20, validation_data=(Xva, yva), class_weight=weights, callbacks=[stop], verbose=2)
    f1, thr = best_threshold(yva, model.predict(Xva, verbose=0, batch_size=512)[:, 0])
    print(f"validation F1 {f1:.4f} at threshold {thr:.2f}")
    p = model.predict(Xte, verbose=0, batch_size=512)[:, 0]
    print(f"test AP {average_precision_score(yte, p):.4f} AUC {roc_auc_score(yte, p):.4f} base rate {yte.mean():.4f}")


if __name__ == "__main__":
    main()
