# Ad click prediction with user and ad embeddings
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import keras
from keras import layers
from sklearn.metrics import roc_auc_score, log_loss

keras.utils.set_random_seed(8)
rng = np.random.default_rng(8)

N, USERS, ADS = 24000, 60, 25
user = rng.integers(0, USERS, N)
ad = rng.integers(0, ADS, N)
hour = rng.integers(0, 24, N)
u_vec = rng.normal(0, 0.8, (USERS, 3))
a_vec = rng.normal(0, 0.8, (ADS, 3))
logit = (u_vec[user] * a_vec[ad]).sum(1) + 0.25 * np.sin(hour / 24 * 2 * np.pi) - 1.4
p_true = 1 / (1 + np.exp(-logit))
click = (rng.random(N) < p_true).astype("float32")
print("click rate", click.mean())

hour_feat = np.stack([np.sin(hour / 24 * 2 * np.pi), np.cos(hour / 24 * 2 * np.pi)], 1).astype("float32")
split = 19000
tr = {"user": user[:split], "ad": ad[:split], "hour": hour_feat[:split]}
te = {"user": user[split:], "ad": ad[split:], "hour": hour_feat[split:]}
y_tr, y_te, p_te = click[:split], click[split:], p_true[split:]

u_in = keras.Input((), dtype="int32", name="user")
a_in = keras.Input((), dtype="int32", name="ad")
h_in = keras.Input((2,), name="hour")
reg = keras.regularizers.L2(1e-4)
u = layers.Embedding(USERS, 4, embeddings_regularizer=reg)(u_in)
a = layers.Embedding(ADS, 4, embeddings_regularizer=reg)(a_in)
ub = layers.Embedding(USERS, 1, embeddings_regularizer=reg)(u_in)
ab = layers.Embedding(ADS, 1, embeddings_regularizer=reg)(a_in)
dot = layers.Dot(axes=1)([u, a])
h = layers.Dense(1)(h_in)
out = layers.Activation("sigmoid")(layers.Add()([dot, ub, ab, h]))
model = keras.Model({"user": u_in, "ad": a_in, "hour": h_in}, out)

model.compile(optimizer=keras.optimizers.Adam(5e-3), loss="binary_crossentropy",
              metrics=[keras.metrics.AUC(name="auc")])
stop = keras.callbacks.EarlyStopping(monitor="val_auc", mode="max", patience=4,
                                     restore_best_weights=True)
model.fit(tr, y_tr, batch_size=256, epochs=12, validation_split=0.1, callbacks=[stop], verbose=2)

p = model.predict(te, batch_size=1000, verbose=0)[:, 0].astype("float64")
print(f"test AUC {roc_auc_score(y_te, p):.4f}   with the true probabilities {roc_auc_score(y_te, p_te):.4f}")
print(f"test logloss {log_loss(y_te, p):.4f}   with the true probabilities {log_loss(y_te, p_te):.4f}")
edges = np.quantile(p, np.linspace(0, 1, 6))
for lo, hi in zip(edges[:-1], edges[1:]):
    m = (p >= lo) & (p <= hi)
    print(f"  bin {lo:.2f}-{hi:.2f}: predicted {p[m].mean():.3f} observed {y_te[m].mean():.3f}")
