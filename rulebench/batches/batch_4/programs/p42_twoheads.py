import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 8
keras.utils.set_random_seed(SEED)

data = load_digits()
X = data.images.astype("float32")                      # 0..16, the model rescales
y_cls = data.target.astype("int64")
y_ink = data.images.mean((1, 2)).astype("float32")     # how much ink
Xtr, Xte, ctr, cte, itr, ite = train_test_split(X, y_cls, y_ink, test_size=0.3, stratify=y_cls, random_state=SEED)

# 1) masking autoencoder without labels
inp = keras.Input((8, 8))
h = layers.Rescaling(1 / 16.0)(inp)
h = layers.Reshape((64,))(h)
h = layers.Dense(128, activation="gelu")(h)
code = layers.Dense(48, activation="gelu", name="code")(h)
backbone = keras.Model(inp, code, name="backbone")

noisy = layers.Dropout(0.25)(inp)
out = layers.Dense(64, activation="sigmoid")(layers.Dense(128, activation="gelu")(backbone(noisy)))
ae = keras.Model(inp, out)
ae.compile(keras.optimizers.Adam(2e-3), "binary_crossentropy")
hist = ae.fit(Xtr, (Xtr / 16.0).reshape(-1, 64), epochs=12, batch_size=64, verbose=0)
print("autoencoder loss", hist.history["loss"][0], "->", hist.history["loss"][-1])

# 2) two heads on the frozen backbone
backbone.trainable = False
feat = backbone(inp, training=False)
cls = layers.Dense(10, name="digit")(feat)
ink = layers.Dense(1, name="ink")(feat)
model = keras.Model(inp, {"digit": cls, "ink": ink})
losses = {"digit": keras.losses.SparseCategoricalCrossentropy(from_logits=True), "ink": "mse"}
weights = {"digit": 1.0, "ink": 0.1}
metrics = {"digit": ["accuracy"], "ink": ["mae"]}
targets, val = {"digit": ctr, "ink": itr[:, None]}, (Xte, {"digit": cte, "ink": ite[:, None]})

model.compile(keras.optimizers.Adam(5e-3), losses, loss_weights=weights, metrics=metrics)
print("trainable weights:", len(model.trainable_weights), "of", len(model.weights))
model.fit(Xtr, targets, validation_data=val, epochs=12, batch_size=64, verbose=2)

# 3) a few epochs with everything free and a small step
backbone.trainable = True
model.compile(keras.optimizers.Adam(5e-4), losses, loss_weights=weights, metrics=metrics)
print("trainable weights:", len(model.trainable_weights), "of", len(model.weights))
model.fit(Xtr, targets, validation_data=val, epochs=12, batch_size=64, verbose=2)
print(model.evaluate(*val, verbose=0, return_dict=True))
