"""House prices (simulated, 80k - 2M). Targets are log-transformed and standardised; reported back in dollars."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(15)
rng = np.random.default_rng(15)
n = 5000
area = rng.lognormal(4.7, 0.35, n)
rooms = np.clip(np.round(area / 28 + rng.normal(0, 0.8, n)), 1, 12)
dist = rng.exponential(8, n)
year = rng.integers(1920, 2022, n)
zone = rng.integers(0, 6, n)
price = 2600 * area ** 1.05 * np.exp(-0.03 * dist + 0.12 * zone + 0.002 * (year - 1970)) * rng.lognormal(0, 0.12, n)
print("price range", price.min(), price.max())

X = np.column_stack([np.log(area), rooms, np.log1p(dist), (year - 1970) / 30, np.eye(6)[zone]]).astype("float32")
z = np.log(price)
m, s = z[:4000].mean(), z[:4000].std()
t = ((z - m) / s).astype("float32")
X[:, :4] = (X[:, :4] - X[:4000, :4].mean(0)) / X[:4000, :4].std(0)


class MedianApe(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        if epoch % 4 == 0:
            p = np.exp(self.model.predict(X[4000:], verbose=0).ravel() * s + m)
            print(f"epoch {epoch} loss {logs['loss']:.4f} val {logs['val_loss']:.4f} lr {float(self.model.optimizer.learning_rate):.1e} "
                  f"median error {100 * np.median(abs(p - price[4000:]) / price[4000:]):.1f}%")


model = keras.Sequential([layers.Input((X.shape[1],)), layers.Dense(64, "gelu"), layers.Dense(32, "gelu"), layers.Dense(1)])
model.compile(keras.optimizers.RMSprop(3e-3), loss=keras.losses.Huber())
model.fit(X[:4000], t[:4000], validation_data=(X[4000:], t[4000:]), epochs=25, batch_size=128, verbose=0,
          callbacks=[MedianApe(), keras.callbacks.ReduceLROnPlateau(factor=0.3, patience=2, min_lr=1e-6)])
