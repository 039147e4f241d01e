import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

# Iterative magnitude pruning during training, up to 85% zeros.

SEED = 10
keras.utils.set_random_seed(SEED)


class MagnitudePruner:
    """After every batch the pruned entries are put back to zero; every epoch between
    `begin` and `end` the mask gets tighter (cubic ramp, Zhu & Gupta 2017)."""

    def __init__(self, model, final=0.85, begin=3, end=14):
        self.model = model
        self.final, self.begin, self.end = final, begin, end
        self.masks = {}

    def kernels(self):
        return [l for l in self.model.layers if isinstance(l, keras.layers.Dense)][:-1]

    def on_epoch_begin(self, epoch, logs=None):
        if epoch < self.begin or epoch > self.end:
            return
        t = (epoch - self.begin) / (self.end - self.begin)
        sparsity = self.final * (1 - (1 - t) ** 3)
        for layer in self.kernels():
            w = np.asarray(layer.kernel.value)
            self.masks[layer.name] = (np.abs(w) >= np.quantile(np.abs(w), sparsity)).astype("float32")
        print(f"epoch {epoch}: target sparsity {sparsity:.3f}")

    def apply_masks(self):
        for layer in self.kernels():
            if layer.name in self.masks:
                layer.kernel.assign(layer.kernel.value * self.masks[layer.name])


X, y = load_digits(return_X_y=True)
X_tr, X_te, y_tr, y_te = train_test_split((X / 16).astype("float32"), y, test_size=0.3, random_state=0)
model = keras.Sequential([
    keras.Input((64,)),
    keras.layers.Dense(128, activation="relu"),
    keras.layers.Dense(64, activation="relu"),
    keras.layers.Dense(10),
])
model.compile(keras.optimizers.Adam(2e-3),
              loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
pruner = MagnitudePruner(model)

rng = np.random.default_rng(SEED)
B = 32
for epoch in range(24):
    pruner.on_epoch_begin(epoch)
    order = rng.permutation(len(X_tr))
    tot, n = 0.0, 0
    for i in range(0, len(order), B):
        j = order[i:i + B]
        tot += float(model.train_on_batch(X_tr[j], y_tr[j])); n += 1
        pruner.apply_masks()
    if epoch % 3 == 2:
        print(f"epoch {epoch} mean loss {tot / n:.4f}")

for layer in pruner.kernels():
    print(layer.name, "zeros: %.3f" % float((np.asarray(layer.kernel.value) == 0).mean()))
acc = (model.predict(X_te, verbose=0).argmax(1) == y_te).mean()
print("test accuracy of the pruned net: %.4f" % acc)
