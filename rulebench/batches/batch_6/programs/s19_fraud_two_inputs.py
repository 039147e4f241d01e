import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.metrics import average_precision_score, roc_auc_score

keras.utils.set_random_seed(99)
rng = np.random.default_rng(99)
n = 6000
num = rng.normal(size=(n, 8)).astype("float32")
merchant = rng.integers(0, 40, n)
risky = rng.random(40) < 0.2
z = -5.2 + 1.4 * num[:, 0] - 1.1 * num[:, 1] * (num[:, 2] > 0) + 2.0 * risky[merchant]
y = (rng.random(n) < 1 / (1 + np.exp(-z))).astype("float32")
print("fraud rate %.4f" % y.mean())
tr, te = slice(0, 4500), slice(4500, n)

a = keras.Input((8,), name="amounts")
b = keras.Input((1,), name="merchant", dtype="int32")
e = layers.Flatten()(layers.Embedding(40, 4)(b))
h = layers.Concatenate()([a, e])
h = layers.Dense(48, activation="gelu", kernel_regularizer=keras.regularizers.L2(1e-4))(h)
h = layers.Dropout(0.2)(h)
o = layers.Dense(1, activation="sigmoid", bias_initializer=keras.initializers.Constant(float(np.log(y[tr].mean() / (1 - y[tr].mean())))))(h)
model = keras.Model({"amounts": a, "merchant": b}, o)
EPOCHS, BS = 14, 64
steps = -(-4500 // BS)
lr = keras.optimizers.schedules.CosineDecayRestarts(4e-3, first_decay_steps=2 * steps, t_mul=2.0, m_mul=0.7)
model.compile(keras.optimizers.Adam(lr), loss="binary_crossentropy", metrics=[keras.metrics.AUC(curve="PR", name="pr_auc")])
w1 = (1 - y[tr].mean()) / y[tr].mean()
model.fit({"amounts": num[tr], "merchant": merchant[tr][:, None]}, y[tr], epochs=EPOCHS, batch_size=BS,
          class_weight={0: 1.0, 1: float(np.sqrt(w1))}, verbose=2)
p = model.predict({"amounts": num[te], "merchant": merchant[te][:, None]}, verbose=0).ravel()
print("test average precision %.4f  roc auc %.4f  prevalence %.4f" % (average_precision_score(y[te], p), roc_auc_score(y[te], p), y[te].mean()))
