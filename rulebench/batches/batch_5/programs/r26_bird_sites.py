import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import pandas as pd
import torch
torch.set_num_threads(1)
import keras
from keras import layers
from sklearn.preprocessing import LabelEncoder, StandardScaler

keras.utils.set_random_seed(12)
rng = np.random.default_rng(12)

# bird song features collected on several sites; 2023 sites are for training, 2024 sites for testing
species = ["blackcap", "chaffinch", "dunnock", "goldfinch", "nuthatch", "robin", "siskin", "wren"]
centre = {s: rng.normal(0, 1.3, 12) for s in species}


def season(n, names):
    who = rng.choice(names, n)
    feats = np.stack([centre[s] + rng.normal(0, 1.0, 12) for s in who])
    df = pd.DataFrame(feats, columns=[f"mfcc_{i}" for i in range(12)])
    df["species"] = who
    return df


train_df = season(2000, species)
test_df = season(500, [s for s in species if s != "chaffinch"])

cols = [c for c in train_df.columns if c.startswith("mfcc")]
scaler = StandardScaler()
X_train = scaler.fit_transform(train_df[cols])
X_test = scaler.transform(test_df[cols])
le = LabelEncoder()
y_train = le.fit_transform(train_df["species"])
y_test = le.fit_transform(test_df["species"])

model = keras.Sequential([
    keras.Input((len(cols),)),
    layers.Dense(64, activation="relu"),
    layers.Dropout(0.25),
    layers.Dense(32, activation="relu"),
    layers.Dense(8, activation="softmax"),
])
model.compile(optimizer=keras.optimizers.Adam(2e-3), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(X_train, y_train, batch_size=64, epochs=12, validation_data=(X_test, y_test), verbose=2)
pred = model.predict(X_test, verbose=0).argmax(1)
print("2024 accuracy:", np.mean(pred == y_test))
