import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(105)
X, y = make_classification(4000, 15, n_informative=8, weights=[0.95], class_sep=1.2, flip_y=0.0, random_state=105)
Xa, Xb, ya, yb = train_test_split(X, y, test_size=0.3, stratify=y, random_state=1)
s = StandardScaler().fit(Xa)
Xa, Xb = s.transform(Xa), s.transform(Xb)
neg, pos = np.bincount(ya)
weights = {0: len(ya) / (2 * neg), 1: len(ya) / (2 * pos)}
print("class weights", weights)

model = keras.Sequential([
    layers.Input((15,)),
    layers.Dense(32, activation="relu"),
    layers.Dropout(0.2),
    layers.Dense(1, activation="sigmoid", bias_initializer="zeros"),
])
model.compile(keras.optimizers.Adam(2e-3), "binary_crossentropy",
              metrics=[keras.metrics.Recall(name="recall"), keras.metrics.Precision(name="precision"), keras.metrics.AUC(name="auc")])
model.fit(Xa, ya, batch_size=128, epochs=30, class_weight=weights, validation_data=(Xb, yb), verbose=2)
print(model.evaluate(Xb, yb, verbose=0, return_dict=True))
