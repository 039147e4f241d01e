import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import torch
torch.set_num_threads(1)
import keras
from keras import layers, ops
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(8)
X = (load_digits().data / 16.0).astype("float32")
clean_tr, clean_te = train_test_split(X, test_size=0.2, random_state=8)
rng = np.random.default_rng(8)


def corrupt(x):
    noisy = x + 0.3 * rng.normal(size=x.shape)
    drop = rng.random(x.shape) < 0.15
    noisy[drop] = 0.0
    return noisy.astype("float32")


class NoisyBatches(keras.utils.PyDataset):
    """Fresh noise for every batch, target is the clean picture."""
    def __init__(self, x, bs=64):
        super().__init__()
        self.x, self.bs = x, bs
        self.order = rng.permutation(len(x))

    def __len__(self):
        return len(self.x) // self.bs

    def __getitem__(self, i):
        b = self.x[self.order[i * self.bs:(i + 1) * self.bs]]
        return corrupt(b), b

    def on_epoch_end(self):
        self.order = rng.permutation(len(self.x))


def pixel_sum(y_true, y_pred):
    return ops.sum(ops.square(y_true - y_pred), axis=-1)


batches = NoisyBatches(clean_tr)
lr = keras.optimizers.schedules.CosineDecayRestarts(3e-3, first_decay_steps=10 * len(batches), t_mul=1.0, m_mul=0.8, alpha=0.01)
ae = keras.Sequential([
    keras.Input((64,)),
    layers.Dense(128, activation="relu"), layers.Dense(24), layers.Dense(128, activation="relu"),
    layers.Dense(64, activation="sigmoid"),
])
ae.compile(optimizer=keras.optimizers.Adam(lr), loss=pixel_sum)
noisy_te = corrupt(clean_te)
ae.fit(batches, epochs=30, validation_data=(noisy_te, clean_te), verbose=2)
rec = ae.predict(noisy_te, verbose=0)
print("noisy input mse %.4f  -> denoised mse %.4f" % (np.mean((noisy_te - clean_te) ** 2), np.mean((rec - clean_te) ** 2)))
