# My first regression with Keras :) diabetes progression score after one year
import os
os.environ['KERAS_BACKEND'] = 'tensorflow'
os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
import numpy as np
import keras
from keras.layers import Dense, Input
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(0)
x, y = load_diabetes(return_X_y=True)
x = StandardScaler().fit_transform(x)
n = int(0.8 * len(x))
x_train, y_train, x_test, y_test = x[:n], y[:n], x[n:], y[n:]
print('targets from', y.min(), 'to', y.max())

model = keras.models.Sequential()
model.add(Input(shape=(10,)))
model.add(Dense(64, activation='relu'))
model.add(Dense(32, activation='relu'))
model.add(Dense(1, activation='sigmoid'))
model.compile(loss='mean_squared_error', optimizer=keras.optimizers.Adam(1e-2), metrics=['mae'])

h = model.fit(x_train, y_train, validation_data=(x_test, y_test), epochs=50, batch_size=32, verbose=0)
for i in (0, 9, 19, 29, 39, 49):
    print('Epoch %d/50  loss %.1f  mae %.2f  val_mae %.2f' % (i + 1, h.history['loss'][i], h.history['mae'][i], h.history['val_mae'][i]))
print('first predictions:', np.round(model.predict(x_test[:5], verbose=0).ravel(), 2), 'truth:', y_test[:5])
