import os
os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

# tabular letters-like problem: 26 classes, MLP with cosine schedule
SEED = 77
EPOCHS = 20
BATCH = 128
keras.utils.set_random_seed(SEED)

X, y = make_classification(n_samples=7000, n_features=24, n_informative=18, n_redundant=2, n_classes=13,
                           n_clusters_per_class=2, class_sep=2.0, flip_y=0.0, random_state=SEED)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=SEED, stratify=y)
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train).astype("float32"), scaler.transform(X_test).astype("float32")

steps_per_epoch = int(np.ceil(len(X_train) / BATCH))
print(X_train.shape, "classes", len(np.unique(y)), "steps per epoch", steps_per_epoch)

lr = keras.optimizers.schedules.CosineDecay(
    initial_learning_rate=0.0,
    warmup_target=3e-3,
    warmup_steps=10,
    decay_steps=EPOCHS,
    alpha=0.01,
)


def build():
    inputs = keras.Input((X_train.shape[1],))
    h = inputs
    for width in (128, 128):
        h = keras.layers.Dense(width)(h)
        h = keras.layers.LayerNormalization()(h)
        h = keras.layers.Activation("gelu")(h)
        h = keras.layers.Dropout(0.1)(h)
    outputs = keras.layers.Dense(13)(h)
    return keras.Model(inputs, outputs)


model = build()
model.compile(
    optimizer=keras.optimizers.AdamW(lr, weight_decay=1e-3),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
history = model.fit(X_train, y_train, batch_size=BATCH, epochs=EPOCHS, validation_data=(X_test, y_test), verbose=2)
print("best val accuracy:", max(history.history["val_accuracy"]))
