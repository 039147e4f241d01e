import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf
import keras
from keras import layers
from sklearn import datasets

tf.random.set_seed(9)
keras.utils.set_random_seed(9)

digits = datasets.load_digits()
images = (digits.images[..., None] / 16.0).astype("float32")
labels = digits.target.astype("int32")
N_TRAIN, BATCH = 1500, 50


def pipeline(a, training):
    ds = tf.data.Dataset.from_tensor_slices(a).cache()
    if training:
        ds = ds.shuffle(512, reshuffle_each_iteration=True)
    return ds.batch(BATCH)


def zipped(imgs, labs, training=False):
    return tf.data.Dataset.zip((pipeline(imgs, training), pipeline(labs, training))).prefetch(2)


train_ds = zipped(images[:N_TRAIN], labels[:N_TRAIN], training=True)
test_ds = zipped(images[N_TRAIN:], labels[N_TRAIN:])

model = keras.Sequential([
    layers.Input((8, 8, 1)),
    layers.RandomTranslation(0.05, 0.05),
    layers.Conv2D(12, 3, activation="relu", padding="same"),
    layers.MaxPooling2D(),
    layers.Conv2D(24, 3, activation="relu", padding="same"),
    layers.GlobalMaxPooling2D(),
    layers.Dense(10),
])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
model.fit(train_ds, validation_data=test_ds, epochs=10, verbose=2)
