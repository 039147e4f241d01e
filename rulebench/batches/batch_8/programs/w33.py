import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import pandas as pd
import keras
from keras import layers

# expression panel: 40 genes, 4 tissue types, exported from the lab's spreadsheet
rng = np.random.default_rng(11)
tissues = ["adipose", "brain", "liver", "muscle"]
frames = []
for i, t in enumerate(tissues):
    centre = rng.normal(6, 1.0, 40)
    block = pd.DataFrame(rng.normal(centre, 1.2, (250, 40)),
                         columns=[f"gene{j}" for j in range(40)])
    block["tissue"] = t
    frames.append(block)
df = pd.concat(frames, ignore_index=True)

X = df.drop(columns="tissue").to_numpy("float32")
X = (X - X.mean(0)) / X.std(0)
y = df["tissue"].astype("category").cat.codes.to_numpy()

keras.utils.set_random_seed(3)
model = keras.Sequential([
    layers.Input((40,)),
    layers.Dense(32, activation="relu"),
    layers.Dropout(0.2),
    layers.Dense(4, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
hist = model.fit(X, y, batch_size=32, epochs=20, validation_split=0.25, verbose=2)
print("final val accuracy", hist.history["val_accuracy"][-1])
