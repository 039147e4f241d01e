import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 9
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)

digits = load_digits()
x = (digits.images[..., None] / 16.0).astype("float32")
y = keras.utils.to_categorical(digits.target, 10)
x_train, x_val, y_train, y_val = train_test_split(x, y, test_size=0.3, random_state=SEED)


class Mixer(keras.utils.PyDataset):
    def __init__(self, x, y, batch=32, alpha=0.8):
        super().__init__()
        self.x, self.y, self.batch, self.alpha = x, y, batch, alpha

    def __len__(self):
        return len(self.x) // self.batch

    def __getitem__(self, idx):
        i = rng.choice(len(self.x), self.batch)
        j = rng.choice(len(self.x), self.batch)
        lam = rng.beta(self.alpha, self.alpha, (self.batch, 1)).astype("float32")
        xb = lam[..., None, None] * self.x[i] + (1 - lam[..., None, None]) * self.x[j]
        yb = lam * self.y[i] + (1 - lam) * self.y[j]
        return xb, yb


model = keras.Sequential([
    keras.Input((8, 8, 1)),
    layers.Conv2D(24, 3, padding="same", activation="relu"),
    layers.Conv2D(24, 3, padding="same", activation="relu"),
    layers.MaxPooling2D(),
    layers.Flatten(),
    layers.Dropout(0.5),
    layers.Dense(64, activation="relu"),
    layers.Dense(10),
])
model.compile(
    optimizer=keras.optimizers.AdamW(2e-3, weight_decay=0.02),
    loss=keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1),
    metrics=["accuracy"],
)
hist = model.fit(Mixer(x_train, y_train), validation_data=(x_val, y_val), epochs=25, verbose=0)
for e in range(0, 25, 4):
    print(f"epoch {e:2d}  loss {hist.history['loss'][e]:.3f} acc {hist.history['accuracy'][e]:.3f}"
          f"  val_loss {hist.history['val_loss'][e]:.3f} val_acc {hist.history['val_accuracy'][e]:.3f}")
print("validation accuracy", model.evaluate(x_val, y_val, verbose=0)[1])
