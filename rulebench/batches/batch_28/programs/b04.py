import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
from keras import layers
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

SEED = 42
keras.utils.set_random_seed(SEED)

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=42, stratify=y)
scaler = StandardScaler()
X_train = scaler.fit_transform(X_train)
X_test = scaler.transform(X_test)

model = keras.Sequential([
    keras.Input(shape=(X.shape[1],)),
    layers.Dense(32, activation="relu"),
    layers.Dropout(0.3),
    layers.Dense(16, activation="relu"),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy", "auc"])
model.summary()
history = model.fit(X_train, y_train, validation_split=0.2, epochs=40, batch_size=16, verbose=0)
for e in range(0, 40, 8):
    print(e, {k: round(v[e], 4) for k, v in history.history.items()})
loss, acc, auc = model.evaluate(X_test, y_test, verbose=0)
print(f"Test accuracy: {acc:.4f}  AUC: {auc:.4f}")
