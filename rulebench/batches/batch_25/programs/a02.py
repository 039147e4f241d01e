import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
from keras import layers, regularizers
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

SEED = 31
keras.utils.set_random_seed(SEED)

X, y = load_breast_cancer(return_X_y=True)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.3, stratify=y, random_state=31)
scaler = StandardScaler()
X_tr = scaler.fit_transform(X_tr)
X_te = scaler.transform(X_te)

reg = regularizers.l2(0.01)
model = keras.Sequential([
    layers.Input((X.shape[1],)),
    layers.Dense(64, activation="selu", kernel_initializer="lecun_normal", kernel_regularizer=reg),
    layers.AlphaDropout(0.3),
    layers.Dense(64, activation="selu", kernel_initializer="lecun_normal", kernel_regularizer=reg),
    layers.AlphaDropout(0.3),
    layers.Dense(1, kernel_regularizer=reg),
])
model.compile(
    optimizer=keras.optimizers.Adam(1e-3),
    loss=keras.losses.BinaryCrossentropy(from_logits=True, label_smoothing=0.1),
    metrics=[keras.metrics.BinaryAccuracy(threshold=0.0, name="acc")],
)
model.fit(X_tr, y_tr, validation_data=(X_te, y_te), epochs=60, batch_size=16, verbose=2)
print("loss, accuracy on the held-out part:", model.evaluate(X_te, y_te, verbose=0))
