import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np, keras
from keras import layers
from sklearn.datasets import make_moons, make_circles

# Snapshot ensemble (Huang et al. 2017): cosine cycles with restarts to a large learning rate,
# the weights at the end of every cycle are one member.
SEED = 30
keras.utils.set_random_seed(SEED)
xa, ya = make_moons(4000, noise=0.16, random_state=SEED)
xb, yb = make_circles(4000, noise=0.07, factor=0.45, random_state=SEED)
X = np.concatenate([xa, xb + [3.0, 0.3]]).astype("float32")
y = np.concatenate([ya, yb + 2]).astype("int32")
perm = np.random.permutation(len(X))
X, y = X[perm], y[perm]
Xtr, ytr, Xte, yte = X[:5000], y[:5000], X[5000:], y[5000:]

BATCH, CYCLE_EPOCHS, CYCLES, LR0 = 50, 6, 5, 0.5
steps = len(Xtr) // BATCH
schedule = keras.optimizers.schedules.CosineDecayRestarts(LR0, first_decay_steps=CYCLE_EPOCHS * steps,
                                                          t_mul=1.0, m_mul=1.0, alpha=1e-3)
model = keras.Sequential([keras.Input((2,)), layers.Dense(64, activation="tanh"),
                          layers.Dense(64, activation="tanh"), layers.Dense(4)])
model.compile(optimizer=keras.optimizers.SGD(schedule),
              loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])

snapshots = []


class Snapshot(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        print(f"epoch {epoch:2d} loss {logs['loss']:.4f} acc {logs['accuracy']:.4f} val {logs['val_accuracy']:.4f}")
        if (epoch + 1) % CYCLE_EPOCHS == 0:
            snapshots.append(self.model.get_weights())
            print("   snapshot", len(snapshots))


model.fit(Xtr, ytr, batch_size=BATCH, epochs=CYCLE_EPOCHS * CYCLES, validation_data=(Xte, yte),
          callbacks=[Snapshot()], verbose=0)

probs = 0
for w in snapshots:
    model.set_weights(w)
    logits = model.predict(Xte, verbose=0, batch_size=1000)
    p = np.exp(logits - logits.max(1, keepdims=True))
    probs = probs + p / p.sum(1, keepdims=True)
print("ensemble test accuracy %.4f, last member alone %.4f" % (
    (probs.argmax(1) == yte).mean(), (logits.argmax(1) == yte).mean()))
