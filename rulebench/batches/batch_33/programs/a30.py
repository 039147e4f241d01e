import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_classification
from sklearn.metrics import average_precision_score, precision_recall_curve
from sklearn.preprocessing import StandardScaler

# Fraud detection: about 1.5 % positives.  Focal loss, and the output bias starts at the log-odds
# of the base rate (RetinaNet trick), so that the first steps are not spent on learning it.
SEED = 8
keras.utils.set_random_seed(SEED)
X, y = make_classification(n_samples=24000, n_features=20, n_informative=8, n_redundant=4, n_clusters_per_class=3,
                           weights=[0.985], class_sep=1.7, flip_y=0.0, random_state=SEED)
n_tr, n_va = 14000, 4000
sc = StandardScaler().fit(X[:n_tr])
X = sc.transform(X).astype("float32")
y = y.astype("float32")
Xtr, Xva, Xte = np.split(X, [n_tr, n_tr + n_va])
ytr, yva, yte = np.split(y, [n_tr, n_tr + n_va])
rate = ytr.mean()
print("positives in train: %d of %d" % (ytr.sum(), len(ytr)))

model = keras.Sequential([
    keras.Input((20,)),
    layers.Dense(64, activation="relu", kernel_initializer="he_normal"),
    layers.Dense(64, activation="relu", kernel_initializer="he_normal"),
    layers.Dense(1, activation="sigmoid", kernel_initializer=keras.initializers.RandomNormal(stddev=0.01),
                 bias_initializer=keras.initializers.Constant(np.log(rate / (1 - rate)))),
])
model.compile(
    optimizer=keras.optimizers.Adam(1e-3),
    loss=keras.losses.BinaryFocalCrossentropy(gamma=2.0),
    metrics=[keras.metrics.AUC(curve="PR", name="pr_auc")],
)
model.fit(Xtr, ytr, validation_data=(Xva, yva), epochs=8, batch_size=256, verbose=2)

# the operating point is chosen on the validation part
pv = model.predict(Xva, verbose=0)[:, 0]
prec, rec, thr = precision_recall_curve(yva, pv)
f1 = 2 * prec * rec / np.maximum(prec + rec, 1e-9)
cut = thr[f1[:-1].argmax()]
p = model.predict(Xte, verbose=0)[:, 0]
hit = p >= cut
print("threshold %.3f  test precision %.3f  recall %.3f" % (cut, yte[hit].mean(), hit[yte == 1].mean()))
print("test average precision %.4f (chance %.4f)" % (average_precision_score(yte, p), yte.mean()))
