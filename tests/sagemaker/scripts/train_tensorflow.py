"""Trains a small network of Keras, as a script for a TensorFlow container does."""

import argparse
import os

import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=1)
parser.add_argument("--model_dir", help="what the estimator adds by itself")
told = parser.parse_args()

tf.keras.utils.set_random_seed(0)
x = tf.random.normal([96, 4])
y = tf.reduce_sum(x, axis=1, keepdims=True)
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
history = model.fit(x, y, batch_size=16, epochs=told.epochs, verbose=0)
print(f"TensorFlow {tf.__version__}")
for loss in history.history["loss"]:
    print(f"loss = {loss:.4f};")
model.save(os.path.join(os.environ["SM_MODEL_DIR"], "model.keras"))
