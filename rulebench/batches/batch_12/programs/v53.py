import os
os.environ["KERAS_BACKEND"] = "jax"
import keras
from keras import layers
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(0)
X, y = load_wine(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=1)
sc = StandardScaler()
X_train = sc.fit_transform(X_train)
X_test = sc.transform(X_test)

model = keras.Sequential([
    layers.Input((13,)),
    layers.Dense(16, activation="relu", kernel_regularizer=keras.regularizers.L2(1e-3)),
    layers.Dense(3, activation="softmax"),
])
model.compile(loss="sparse_categorical_crossentropy", optimizer=keras.optimizers.Adam(0.01), metrics=["accuracy"])
model.fit(X_train, y_train, epochs=40, batch_size=16, verbose=2)
print("test", model.evaluate(X_test, y_test, verbose=0))
