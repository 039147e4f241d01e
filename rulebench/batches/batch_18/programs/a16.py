import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import f1_score

keras.utils.set_random_seed(30)
X, Y = make_multilabel_classification(n_samples=3000, n_features=40, n_classes=5, n_labels=2,
                                      random_state=30)
X = np.log1p(X).astype("float32")
Y = Y.astype("float32")

model = keras.Sequential([
    keras.Input((40,)),
    layers.BatchNormalization(),
    layers.Dense(64, activation="relu"),
    layers.Dropout(0.3),
    layers.Dense(5, activation="sigmoid"),
])
model.compile(optimizer="adam", loss="binary_crossentropy",
              metrics=[keras.metrics.BinaryAccuracy(name="acc"), keras.metrics.AUC(multi_label=True, name="auc")])
model.fit(X[:2400], Y[:2400], batch_size=64, epochs=15, validation_data=(X[2400:], Y[2400:]), verbose=2)

P = model.predict(X[2400:], verbose=0)
print("rows of P add up to", P.sum(1)[:5].round(2))
print("micro F1 %.3f" % f1_score(Y[2400:], P > 0.5, average="micro"))
