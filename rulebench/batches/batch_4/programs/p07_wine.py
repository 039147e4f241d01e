import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import pandas as pd
import keras
from keras.models import Sequential
from keras.layers import Dense, Input, Dropout
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler, OneHotEncoder
from sklearn.metrics import confusion_matrix

SEED = 2018
np.random.seed(SEED)
keras.utils.set_random_seed(SEED)

# Importing the dataset
dataset = load_wine(as_frame=True).frame
X = dataset.iloc[:, :-1].values
y = dataset.iloc[:, -1].values.reshape(-1, 1)
print(pd.Series(y[:, 0]).value_counts())

# Encoding categorical data
onehotencoder = OneHotEncoder(sparse_output=False)
y = onehotencoder.fit_transform(y)

# Splitting the dataset into the Training set and Test set
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0)

# Feature Scaling
sc = StandardScaler()
X_train = sc.fit_transform(X_train)
X_test = sc.transform(X_test)

# Initialising the ANN
classifier = Sequential()
classifier.add(Input(shape=(13,)))
# Adding the input layer and the first hidden layer
classifier.add(Dense(units=16, kernel_initializer="zeros", activation="relu"))
classifier.add(Dropout(0.1))
# Adding the second hidden layer
classifier.add(Dense(units=16, kernel_initializer="zeros", activation="relu"))
classifier.add(Dropout(0.1))
# Adding the output layer
classifier.add(Dense(units=3, kernel_initializer="glorot_uniform", activation="softmax"))

# Compiling the ANN
classifier.compile(optimizer="adam", loss="categorical_crossentropy", metrics=["accuracy"])

# Fitting the ANN to the Training set
history = classifier.fit(X_train, y_train, batch_size=10, epochs=50, verbose=0)
for e in range(0, 50, 5):
    print("epoch", e, "loss", round(history.history["loss"][e], 4),
          "acc", round(history.history["accuracy"][e], 4))

# Predicting the Test set results
y_pred = classifier.predict(X_test, verbose=0).argmax(axis=1)
cm = confusion_matrix(y_test.argmax(axis=1), y_pred)
print(cm)
print("accuracy:", np.trace(cm) / cm.sum())
