import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.metrics import recall_score, roc_auc_score

# churn: one in fifteen customers leaves
keras.utils.set_random_seed(104)
X, y = make_classification(4000, 14, n_informative=7, weights=[0.933], class_sep=1.0, flip_y=0.005, random_state=104)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, test_size=0.3, random_state=0)
w = len(y_train) / (2 * np.bincount(y_train))
model = keras.Sequential([
    keras.Input((14,)),
    layers.Dense(32, activation="relu"),
    layers.Dense(16, activation="relu"),
    layers.Dense(1, activation="sigmoid",
                 bias_initializer="zeros"),
])
model.compile(keras.optimizers.RMSprop(1e-3), "binary_crossentropy", metrics=["accuracy"])
model.fit(X_train, y_train, epochs=15, batch_size=64, class_weight={0: w[0], 1: w[1]},
          validation_data=(X_test, y_test), verbose=2)
s = model.predict(X_test, verbose=0)[:, 0]
print("recall %.3f AUC %.3f" % (recall_score(y_test, s > 0.5), roc_auc_score(y_test, s)))
