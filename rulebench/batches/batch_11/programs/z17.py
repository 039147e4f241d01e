import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import argparse
import numpy as np
import tensorflow as tf
import keras
from keras import layers
from sklearn.datasets import load_digits


def build_autoencoder():
    inp = keras.Input((8, 8, 1))
    x = layers.Conv2D(24, 3, activation="relu", padding="same")(inp)
    skip = x
    x = layers.MaxPooling2D(2)(x)
    x = layers.Conv2D(32, 3, activation="relu", padding="same")(x)
    x = layers.Conv2DTranspose(24, 3, strides=2, activation="relu", padding="same")(x)
    x = layers.Concatenate()([x, skip])
    return keras.Model(inp, layers.Conv2D(1, 3, activation="sigmoid", padding="same")(x))


def pipeline(images, noise, batch_size, training):
    ds = tf.data.Dataset.from_tensor_slices(images)
    if training:
        ds = ds.shuffle(len(images), seed=0)
    ds = ds.batch(batch_size)
    ds = ds.map(lambda x: (tf.clip_by_value(x + noise * tf.random.normal(tf.shape(x)), 0.0, 1.0), x))
    return ds.prefetch(1)


class PSNR(keras.callbacks.Callback):
    def __init__(self, noisy, clean):
        super().__init__()
        self.noisy, self.clean = noisy, clean

    def on_epoch_end(self, epoch, logs=None):
        if epoch % 4 == 3:
            out = self.model.predict(self.noisy, verbose=0, batch_size=256)
            f = lambda a: -10 * np.log10(np.mean((a - self.clean) ** 2))
            print(f"epoch {epoch + 1} loss {logs['loss']:.4f} psnr noisy {f(self.noisy):.2f} denoised {f(out):.2f}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--noise", type=float, default=0.3)
    ap.add_argument("--epochs", type=int, default=12)
    ap.add_argument("--batch-size", type=int, default=64)
    args = ap.parse_args()
    keras.utils.set_random_seed(2)
    x = (load_digits().images / 16.0)[..., None].astype("float32")
    x = x[np.random.default_rng(0).permutation(len(x))]
    tr, te = x[:1400], x[1400:]
    noisy = np.clip(te + args.noise * np.random.default_rng(1).normal(size=te.shape), 0, 1).astype("float32")
    model = build_autoencoder()
    model.compile(keras.optimizers.Adam(3e-3), "binary_crossentropy")
    model.fit(pipeline(tr, args.noise, args.batch_size, True), epochs=args.epochs, verbose=0,
              validation_data=pipeline(te, args.noise, 200, False), callbacks=[PSNR(noisy, te)])
    print("test loss", model.evaluate(noisy, te, verbose=0))


if __name__ == "__main__":
    main()
