# homework 3, question 2: neural network for the breast cancer data
import os
os.environ["KERAS_BACKEND"] = "tensorflow"

import numpy as np
from keras.models import Sequential
from keras.layers import Dense, Dropout, Input
from keras.utils import set_random_seed
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler

SEED = 0
set_random_seed(SEED)

data = load_breast_cancer()
X = data.data
Y = data.target
X_train, X_test, Y_train, Y_test = train_test_split(X, Y, test_size=0.3, random_state=SEED)

scaler = MinMaxScaler()
X_train = scaler.fit_transform(X_train)
X_test = scaler.transform(X_test)

model = Sequential()
model.add(Input((30,)))
model.add(Dense(30, activation='relu'))
model.add(Dropout(0.2))
model.add(Dense(15, activation='relu'))
model.add(Dense(1, activation='softmax'))
model.compile(loss='binary_crossentropy', optimizer='adam', metrics=['accuracy'])

model.fit(x=X_train, y=Y_train, epochs=50, batch_size=16,
          validation_data=(X_test, Y_test), verbose=2)

score = model.evaluate(X_test, Y_test, verbose=0)
print('Test loss:', score[0])
print('Test accuracy:', score[1])
