import os
os.environ["KERAS_BACKEND"] = "torch"
import keras
from keras.layers import Dense, Dropout
from keras.models import Sequential
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(123)

data = load_breast_cancer()
X_train, X_test, y_train, y_test = train_test_split(data.data, data.target, test_size=0.2, random_state=123)
sc = StandardScaler()
X_train = sc.fit_transform(X_train)
X_test = sc.transform(X_test)

classifier = Sequential()
classifier.add(keras.Input(shape=(30,)))
classifier.add(Dense(units=16, activation='relu'))
classifier.add(Dropout(0.1))
classifier.add(Dense(units=16, activation='relu'))
classifier.add(Dense(units=1, activation='softmax'))
classifier.compile(optimizer='adam', loss='binary_crossentropy', metrics=['accuracy'])
classifier.fit(X_train, y_train, batch_size=16, epochs=15, verbose=2, validation_data=(X_test, y_test))

loss, acc = classifier.evaluate(X_test, y_test, verbose=0)
print("accuracy on the test set: %.4f" % acc)
