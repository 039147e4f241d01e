"""Topic classification of short texts with averaged word embeddings."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import numpy as np
import keras
from keras import layers

SEED = 30
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)
VOCAB, LENGTH, TOPICS = 600, 30, 5

common = rng.dirichlet(np.full(VOCAB, 0.3))
topic_words = [0.75 * common + 0.25 * rng.dirichlet(np.full(VOCAB, 0.05)) for _ in range(TOPICS)]
labels = rng.integers(0, TOPICS, 6000)
texts = np.stack([rng.choice(VOCAB, size=LENGTH, p=topic_words[c]) for c in labels])

x_train, y_train = texts[:4200], labels[:4200]
x_val, y_val = texts[4200:5000], labels[4200:5000]
x_test, y_test = texts[5000:], labels[5000:]

model = keras.Sequential([
    keras.Input((LENGTH,), dtype="int32"),
    layers.Embedding(VOCAB, 32),
    layers.GlobalAveragePooling1D(),
    layers.Dense(32, activation="relu"),
    layers.Dropout(0.3),
    layers.Dense(TOPICS),
])
model.compile(keras.optimizers.Adam(2e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
stopper = keras.callbacks.EarlyStopping(monitor="val_loss", patience=4, restore_best_weights=True)
model.fit(x_train, y_train, validation_data=(x_val, y_val), epochs=30, batch_size=64, callbacks=[stopper], verbose=2)
print("test accuracy %.4f" % model.evaluate(x_test, y_test, verbose=0)[1])
