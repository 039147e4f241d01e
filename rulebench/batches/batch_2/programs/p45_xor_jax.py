import os
os.environ['KERAS_BACKEND'] = 'jax'
import numpy as np
import keras

# XOR. Four samples, two hidden units' worth of theory, eight in practice
keras.utils.set_random_seed(19)
X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], 'float32')
y = np.array([[0], [1], [1], [0]], 'float32')

model = keras.Sequential([
    keras.Input((2,)),
    keras.layers.Dense(8, activation='tanh'),
    keras.layers.Dense(1, activation='sigmoid'),
])
model.compile(loss='mean_squared_error', optimizer=keras.optimizers.SGD(learning_rate=1.0, momentum=0.8),
              metrics=['binary_accuracy'])
for part in range(6):
    h = model.fit(X, y, epochs=50, batch_size=4, verbose=0)
    print((part + 1) * 50, 'epochs: loss %.5f acc %.2f' % (h.history['loss'][-1], h.history['binary_accuracy'][-1]))
print(model.predict(X, verbose=0).round(3).ravel())
