import os
os.environ["KERAS_BACKEND"] = "torch"
import keras
from keras import layers
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.metrics import r2_score

# predict disease progression
keras.utils.set_random_seed(1)
X, y = load_diabetes(return_X_y=True)
Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=0.2, random_state=3)
sx, sy = StandardScaler(), StandardScaler()
Xtr = sx.fit_transform(Xtr)
Xte = sx.transform(Xte)
ytr_s = sy.fit_transform(ytr.reshape(-1, 1))

model = keras.Sequential([
    layers.Input((10,)),
    layers.Dense(16, activation="relu"),
    layers.Dense(8, activation="relu"),
    layers.Dense(1, activation="relu"),
])
model.compile(optimizer=keras.optimizers.Adam(5e-3), loss="mse", metrics=["mae"])
model.fit(Xtr, ytr_s, epochs=30, batch_size=32, validation_split=0.1, verbose=2)

pred = sy.inverse_transform(model.predict(Xte, verbose=0))
print("train mse", model.evaluate(Xtr, ytr_s, verbose=0)[0])
print("R2 test", r2_score(yte, pred[:, 0]))
print("prediction range", pred.min(), pred.max())
