import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import math
import keras
from keras import ops
from sklearn.datasets import load_digits

keras.utils.set_random_seed(14)


class CosineDense(keras.layers.Layer):
    """Normalised classifier: cosine similarity with a learnt scale, no bias."""

    def __init__(self, units, **kw):
        super().__init__(**kw)
        self.units = units

    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], self.units), initializer="random_normal", name="w")
        self.scale = self.add_weight(shape=(), initializer=keras.initializers.Constant(8.0), name="scale")

    def call(self, x):
        x = x / (ops.norm(x, axis=-1, keepdims=True) + 1e-6)
        w = self.w / (ops.norm(self.w, axis=0, keepdims=True) + 1e-6)
        return self.scale * (x @ w)


class WarmupCosine(keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, peak, warm, total):
        self.peak, self.warm, self.total = peak, warm, total

    def __call__(self, step):
        s = ops.cast(step, "float32")
        up = s / self.warm
        down = 0.5 * (1 + ops.cos(math.pi * ops.clip((s - self.warm) / (self.total - self.warm), 0.0, 1.0)))
        return self.peak * ops.where(s < self.warm, up, down)


X, y = load_digits(return_X_y=True)
X = (X / 16).astype("float32")
Y = keras.utils.to_categorical(y, 10)
model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(64, activation="swish"),
                          keras.layers.LayerNormalization(), CosineDense(10)])
steps = 30 * 45
model.compile(keras.optimizers.AdamW(WarmupCosine(4e-3, 150, steps), weight_decay=1e-3),
              keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1), metrics=["accuracy"])
stop = keras.callbacks.EarlyStopping(monitor="val_accuracy", patience=6, restore_best_weights=True)
h = model.fit(X[:1440], Y[:1440], validation_data=(X[1440:], Y[1440:]), epochs=30, batch_size=32,
              callbacks=[stop], verbose=0)
for e in range(0, len(h.history["loss"]), 2):
    print("epoch", e, {k: round(v[e], 4) for k, v in h.history.items()})
print("stopped after", len(h.history["loss"]), "epochs", model.evaluate(X[1440:], Y[1440:], verbose=0))
