import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.utils.class_weight import compute_class_weight

keras.utils.set_random_seed(21)
X, y = make_classification(5000, 16, n_informative=8, weights=[0.9], class_sep=1.2, random_state=21)
Xtr, Xte, ytr, yte = train_test_split(X.astype("float32"), y, stratify=y, random_state=21)
cw = compute_class_weight("balanced", classes=np.array([0, 1]), y=ytr)
print("class weights", cw)

norm = layers.Normalization()
norm.adapt(Xtr)
model = keras.Sequential([
    keras.Input((16,)), norm,
    layers.Dense(48, activation="relu"),
    layers.Dense(24, activation="relu"),
    layers.Dense(2, activation="softmax"),
])
steps = 30 * int(np.ceil(len(Xtr) / 128))
lr = keras.optimizers.schedules.CosineDecay(0.0, steps - 100, warmup_target=0.1, warmup_steps=100)
model.compile(keras.optimizers.SGD(lr, momentum=0.9),
              keras.losses.CategoricalCrossentropy(label_smoothing=0.05),
              metrics=["accuracy"])
model.fit(Xtr, keras.utils.to_categorical(ytr, 2), epochs=30, batch_size=128,
          class_weight={0: cw[0], 1: cw[1]}, verbose=2)
p = model.predict(Xte, verbose=0)
print("balanced acc", balanced_accuracy_score(yte, p.argmax(1)), "AUC", roc_auc_score(yte, p[:, 1]))
