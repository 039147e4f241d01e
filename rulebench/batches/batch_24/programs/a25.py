"""Train on a small noisy table, keep the checkpoint picked on validation."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tempfile
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split

SEED = 15
keras.utils.set_random_seed(SEED)


class Experiment:
    def __init__(self, epochs=25, batch_size=32, width=128):
        self.epochs = epochs
        self.batch_size = batch_size
        self.width = width
        self.path = os.path.join(tempfile.mkdtemp(), "model.weights.h5")

    def load_data(self):
        X, y = make_classification(n_samples=2400, n_features=30, n_informative=8,
                                   n_redundant=4, flip_y=0.15, class_sep=0.8,
                                   random_state=SEED)
        X = X.astype("float32")
        X_dev, self.X_test, y_dev, self.y_test = train_test_split(
            X, y, test_size=800, random_state=SEED, stratify=y)
        self.X_train, self.X_val, self.y_train, self.y_val = train_test_split(
            X_dev, y_dev, test_size=600, random_state=SEED, stratify=y_dev)
        norm = layers.Normalization()
        norm.adapt(self.X_train)
        self.norm = norm

    def build(self):
        self.model = keras.Sequential([
            keras.Input((30,)),
            self.norm,
            layers.Dense(self.width, activation="relu"),
            layers.Dense(self.width, activation="relu"),
            layers.Dense(1, activation="sigmoid"),
        ])
        self.model.compile(optimizer=keras.optimizers.Adam(1e-3),
                           loss="binary_crossentropy", metrics=["accuracy"])

    def fit(self):
        checkpoint = keras.callbacks.ModelCheckpoint(
            self.path, monitor="val_loss", mode="max",
            save_best_only=True, save_weights_only=True, verbose=0)
        return self.model.fit(self.X_train, self.y_train,
                              validation_data=(self.X_val, self.y_val),
                              epochs=self.epochs, batch_size=self.batch_size,
                              callbacks=[checkpoint], verbose=2)

    def test(self):
        self.model.load_weights(self.path)
        p = self.model.predict(self.X_test, verbose=0)[:, 0].astype("float64")
        p = np.clip(p, 1e-6, 1 - 1e-6)
        print("test logloss  %.4f" % log_loss(self.y_test, p))
        print("test accuracy %.4f" % np.mean((p > 0.5) == self.y_test))
        print("test auc      %.4f" % roc_auc_score(self.y_test, p))


if __name__ == "__main__":
    exp = Experiment()
    exp.load_data()
    exp.build()
    exp.fit()
    exp.test()
