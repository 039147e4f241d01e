# Homework 3: "use a learning rate schedule". Digits, 10 classes.
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(3)
EPOCHS = 40
BATCH = 32

digits = load_digits()
X = (digits.images / 16.0)[..., None].astype("float32")
y = digits.target
Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=0.3, random_state=3, stratify=y)

model = keras.Sequential([
    layers.Input((8, 8, 1)),
    layers.Conv2D(16, 3, padding="same", activation="relu"),
    layers.MaxPooling2D(),
    layers.Conv2D(32, 3, padding="same", activation="relu"),
    layers.Flatten(),
    layers.Dense(64, activation="relu"),
    layers.Dropout(0.3),
    layers.Dense(10, activation="softmax"),
])

# cosine from 1e-3 down to zero over the whole training
schedule = keras.optimizers.schedules.CosineDecay(initial_learning_rate=1e-3, decay_steps=EPOCHS)
model.compile(optimizer=keras.optimizers.Adam(schedule),
              loss="sparse_categorical_crossentropy",
              metrics=["accuracy"])

history = model.fit(Xtr, ytr, validation_data=(Xte, yte), batch_size=BATCH, epochs=EPOCHS, verbose=0)
for e in range(0, EPOCHS, 4):
    h = history.history
    print(f"epoch {e+1:2d}  loss {h['loss'][e]:.4f}  acc {h['accuracy'][e]:.3f}  "
          f"val_loss {h['val_loss'][e]:.4f}  val_acc {h['val_accuracy'][e]:.3f}")
loss, acc = model.evaluate(Xte, yte, verbose=0)
print("Answer to question 3c: test accuracy = %.4f" % acc)
