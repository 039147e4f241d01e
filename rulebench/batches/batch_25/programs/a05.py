import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras.layers import Dense, Dropout, BatchNormalization

# Recognise which of six hand gestures was made from 20 s of accelerometer features.
keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)
GESTURES = ["wave", "push", "pull", "circle", "tap", "shake"]


def recordings(gesture_id, count):
    """Stand-in for reading gesture_<id>.csv"""
    g = np.random.default_rng(100 + gesture_id)
    centre, mix = g.normal(0, 0.55, 24), g.normal(0, 0.35, (24, 24))
    return (centre + rng.normal(size=(count, 24)) @ mix).astype("float32")


features, targets = [], []
for i, name in enumerate(GESTURES):
    part = recordings(i, 500)
    print(f"{name}: {len(part)} recordings")
    features.append(part)
    targets.append(np.full(len(part), i))
features, targets = np.concatenate(features), np.concatenate(targets)
fresh_x = np.concatenate([recordings(i, 100) for i in range(6)])
fresh_y = np.repeat(np.arange(6), 100)

mean, std = features.mean(0), features.std(0)
norm = lambda a: (a - mean) / std

model = keras.Sequential([
    keras.Input((24,)),
    Dense(64, activation="relu"), BatchNormalization(), Dropout(0.3),
    Dense(32, activation="relu"), BatchNormalization(), Dropout(0.3),
    Dense(len(GESTURES), activation="softmax"),
])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
h = model.fit(norm(features), targets, epochs=14, batch_size=32, validation_split=0.2, verbose=0)
for k in range(14):
    print("%2d  loss %.4f acc %.4f | val_loss %.4f val_acc %.4f" % (
        k, h.history["loss"][k], h.history["accuracy"][k], h.history["val_loss"][k], h.history["val_accuracy"][k]))
print("new recordings, accuracy: %.4f" % model.evaluate(norm(fresh_x), fresh_y, verbose=0)[1])
