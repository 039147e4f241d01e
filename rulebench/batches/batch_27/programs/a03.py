import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_multilabel_classification
from sklearn.model_selection import train_test_split
from sklearn.metrics import f1_score, hamming_loss

# Ticket tagging: every support ticket may carry several of 8 tags.
keras.utils.set_random_seed(7)
TAGS = ["billing", "login", "crash", "refund", "slow", "mobile", "api", "other"]

X, Y = make_multilabel_classification(
    n_samples=6000, n_features=60, n_classes=len(TAGS), n_labels=3,
    length=80, allow_unlabeled=False, random_state=7)
X = np.log1p(X).astype("float32")
X_tr, X_te, Y_tr, Y_te = train_test_split(X, Y.astype("float32"), test_size=0.25, random_state=7)
mu, sd = X_tr.mean(0), X_tr.std(0) + 1e-6
X_tr, X_te = (X_tr - mu) / sd, (X_te - mu) / sd
print("tags per ticket:", Y_tr.sum(1).mean())

model = keras.Sequential([
    keras.Input((X.shape[1],)),
    layers.Dense(96, activation="relu"),
    layers.Dropout(0.2),
    layers.Dense(48, activation="relu"),
    layers.Dense(len(TAGS), activation="softmax"),
])
model.compile(optimizer=keras.optimizers.Adam(1e-3),
              loss="categorical_crossentropy")

hist = model.fit(X_tr, Y_tr, validation_split=0.1, epochs=25, batch_size=64, verbose=2)

prob = model.predict(X_te, verbose=0)
pred = (prob > 0.5).astype(int)
for i, t in enumerate(TAGS):
    print(f"{t:10s} f1={f1_score(Y_te[:, i], pred[:, i], zero_division=0):.3f}")
print("hamming loss", round(hamming_loss(Y_te, pred), 4))
print("micro F1 on test:", round(f1_score(Y_te, pred, average="micro"), 4))
