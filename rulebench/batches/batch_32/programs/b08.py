import os
os.environ["KERAS_BACKEND"] = "torch"
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 0
keras.utils.set_random_seed(SEED)

digits = load_digits()
x = digits.images.astype("float32")[..., None] / 16.0
y = digits.target
x_trainval, x_test, y_trainval, y_test = train_test_split(x, y, test_size=0.2, stratify=y, random_state=SEED)
x_train, x_val, y_train, y_val = train_test_split(x_trainval, y_trainval, test_size=0.2,
                                                  stratify=y_trainval, random_state=SEED)

inputs = keras.Input((8, 8, 1))
h = layers.Conv2D(16, 3, padding="same", use_bias=False)(inputs)
h = layers.BatchNormalization()(h)
h = layers.ReLU()(h)
h = layers.MaxPooling2D()(h)
h = layers.Conv2D(32, 3, padding="same", activation="relu")(h)
h = layers.GlobalAveragePooling2D()(h)
h = layers.Dropout(0.2)(h)
outputs = layers.Dense(10, activation="softmax")(h)
model = keras.Model(inputs, outputs)
model.summary()

model.compile(optimizer=keras.optimizers.Adam(4e-3), loss="sparse_categorical_crossentropy",
              metrics=["accuracy"])
model.fit(x_train, y_train, validation_data=(x_val, y_val), batch_size=32, epochs=20, verbose=2,
          callbacks=[keras.callbacks.EarlyStopping(monitor="val_loss", patience=6,
                                                   restore_best_weights=True)])
test_loss, test_acc = model.evaluate(x_test, y_test, verbose=0)
print("Test loss: %.4f  Test accuracy: %.4f" % (test_loss, test_acc))
