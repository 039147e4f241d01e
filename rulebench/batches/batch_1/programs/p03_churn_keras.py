import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.utils.class_weight import compute_class_weight

keras.utils.set_random_seed(3)
X, y = make_classification(n_samples=6000, n_features=16, n_informative=7, n_classes=2, weights=[0.93], flip_y=0.01, random_state=3)
X_train, X_test, y_train, y_test = train_test_split(X.astype("float32"), y, stratify=y, random_state=3)

norm = layers.Normalization()
norm.adapt(X_train)

model = keras.Sequential([
    layers.Input((16,)), norm,
    layers.Dense(32), layers.LeakyReLU(), layers.Dropout(0.3),
    layers.Dense(16), layers.LeakyReLU(),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(keras.optimizers.Adam(2e-3), "binary_crossentropy", metrics=[keras.metrics.AUC(name="auc", curve="PR")])
cw = compute_class_weight("balanced", classes=np.array([0, 1]), y=y_train)
print("class weights", cw)
es = keras.callbacks.EarlyStopping(monitor="val_auc", mode="max", patience=6, restore_best_weights=True, verbose=1)
model.fit(X_train, y_train, validation_split=0.2, epochs=60, batch_size=64, class_weight={0: cw[0], 1: cw[1]}, callbacks=[es], verbose=2)
p = model.predict(X_test, verbose=0).ravel()
print("balanced accuracy", balanced_accuracy_score(y_test, p > 0.5))
