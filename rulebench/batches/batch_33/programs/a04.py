import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

# --- Crop type from spectral bands (simulated): 12 classes ---
keras.utils.set_random_seed(7)
X, y = make_classification(n_samples=9000, n_features=40, n_informative=18, n_redundant=6,
                           n_classes=12, n_clusters_per_class=2, class_sep=1.6, random_state=7)
Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=0.25, random_state=7, stratify=y)
sc = StandardScaler().fit(Xtr)
Xtr, Xte = sc.transform(Xtr).astype("float32"), sc.transform(Xte).astype("float32")

model = keras.Sequential([
    layers.Input((40,)),
    layers.Dense(96, activation="gelu"),
    layers.Dense(48, activation="gelu"),
    layers.Dense(12, activation="softmax", name="probs"),
])
model.compile(
    optimizer=keras.optimizers.SGD(learning_rate=0.02, momentum=0.9),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.summary()
hist = model.fit(Xtr, ytr, batch_size=128, epochs=22, validation_data=(Xte, yte), verbose=2)
loss, acc = model.evaluate(Xte, yte, verbose=0)
p = model.predict(Xte, verbose=0)
nll = -np.log(p[np.arange(len(yte)), yte] + 1e-7).mean()
print(f"final: test acc {acc:.4f}  NLL of predicted probabilities {nll:.4f}")
