# Snapshot ensemble (Huang et al. 2017): the learning rate is restarted several times, the
# weights at the end of each cycle are kept and their predictions averaged.
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 12
keras.utils.set_random_seed(SEED)
X, y = load_digits(return_X_y=True)
X = (X / 16.0).astype("float32")
Xa, Xb, ya, yb = train_test_split(X, y, test_size=0.5, random_state=SEED, stratify=y)

CYCLES, EPOCHS_PER_CYCLE, BATCH = 5, 8, 16
steps = EPOCHS_PER_CYCLE * int(np.ceil(len(Xa) / BATCH))

net = keras.Sequential([
    keras.Input((64,)),
    layers.Dense(64, activation="relu"),
    layers.Dropout(0.2),
    layers.Dense(64, activation="relu"),
    layers.Dense(10),
])
lr = keras.optimizers.schedules.CosineDecayRestarts(0.3, first_decay_steps=steps, t_mul=1.0, m_mul=1.0, alpha=1e-3)
net.compile(
    keras.optimizers.SGD(lr),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)


def softmax(z):
    e = np.exp(z - z.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


votes = np.zeros((len(Xb), 10))
for c in range(CYCLES):
    # fit goes on with the same optimizer, so its step counter goes on too
    h = net.fit(Xa, ya, epochs=EPOCHS_PER_CYCLE, batch_size=BATCH, verbose=0)
    p = softmax(net.predict(Xb, verbose=0))
    votes += p
    print(f"cycle {c + 1}: loss {h.history['loss'][0]:.3f} -> {h.history['loss'][-1]:.3f}, "
          f"snapshot {np.mean(p.argmax(1) == yb):.4f}, ensemble {np.mean(votes.argmax(1) == yb):.4f}")

print("ensemble test accuracy: %.4f" % np.mean(votes.argmax(1) == yb))
