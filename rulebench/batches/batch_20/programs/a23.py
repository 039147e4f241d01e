import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.metrics import roc_auc_score, log_loss

keras.utils.set_random_seed(7)

# --- data -------------------------------------------------------------
data = load_breast_cancer()
X_train, X_test, y_train, y_test = train_test_split(
    data.data, data.target, test_size=0.25, random_state=7, stratify=data.target
)
scaler = StandardScaler().fit(X_train)
X_train = scaler.transform(X_train).astype("float32")
X_test = scaler.transform(X_test).astype("float32")
y_train = y_train.astype("float32").reshape(-1, 1)
y_test = y_test.astype("float32").reshape(-1, 1)
print("train", X_train.shape, "test", X_test.shape, "positives", y_train.mean())

# --- model ------------------------------------------------------------
model = keras.Sequential(
    [
        keras.Input((X_train.shape[1],)),
        layers.Dense(32, activation="relu"),
        layers.Dropout(0.1),
        layers.Dense(16, activation="relu"),
        layers.Dense(1, activation="softmax"),
    ]
)
model.compile(
    optimizer=keras.optimizers.Adam(1e-3),
    loss="binary_crossentropy",
    metrics=["accuracy"],
)
model.summary()

history = model.fit(
    X_train, y_train,
    validation_split=0.15,
    epochs=14,
    batch_size=32,
    verbose=2,
)

# --- evaluation -------------------------------------------------------
loss, acc = model.evaluate(X_test, y_test, verbose=0)
scores = model.predict(X_test, verbose=0).ravel()
print(f"test loss {loss:.4f}  test accuracy {acc:.4f}")
print(f"test AUC {roc_auc_score(y_test.ravel(), scores):.4f}")
missed = np.where((scores > 0.5) != (y_test.ravel() > 0.5))[0]
print("misclassified:", len(missed), "of", len(y_test))
