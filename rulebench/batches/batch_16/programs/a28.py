import os
os.environ["KERAS_BACKEND"] = "jax"
import argparse
import numpy as np
import keras
from keras import layers


def synth(label, rng, sr=1000, seconds=0.5):
    """One clip: steady tone, rising chirp, falling chirp or pulse train."""
    t = np.arange(int(sr * seconds)) / sr
    f = rng.uniform(60, 160)
    if label == 0:
        s = np.sin(2 * np.pi * f * t)
    elif label == 1:
        s = np.sin(2 * np.pi * (f * t + 150 * t ** 2))
    elif label == 2:
        s = np.sin(2 * np.pi * ((f + 150) * t - 150 * t ** 2))
    else:
        s = ((t * f / 8) % 1 < 0.15) * np.sin(2 * np.pi * 200 * t)
    return rng.uniform(0.2, 1.0) * s + 0.1 * rng.normal(size=len(t))


def log_spectrogram(clip, frame=64, hop=32):
    n = 1 + (len(clip) - frame) // hop
    frames = np.stack([clip[i * hop:i * hop + frame] for i in range(n)]) * np.hanning(frame)
    spec = np.log(np.abs(np.fft.rfft(frames, axis=1)) ** 2 + 1e-4)
    return (spec - spec.mean()) / spec.std()


def dataset(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n)
    x = np.stack([log_spectrogram(synth(c, rng)) for c in y]).astype("float32")
    return x, y


def block(h, filters, stride):
    skip = layers.Conv1D(filters, 1, strides=stride)(h)
    h = layers.Conv1D(filters, 3, strides=stride, padding="same", use_bias=False)(h)
    h = layers.BatchNormalization(momentum=0.9)(h)
    return layers.ReLU()(layers.Add()([h, skip]))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--clips", type=int, default=1200)
    p.add_argument("--epochs", type=int, default=12)
    args = p.parse_args()
    keras.utils.set_random_seed(20)
    x_train, y_train = dataset(args.clips, 1)
    x_test, y_test = dataset(400, 2)
    print(x_train.shape)

    inp = keras.Input(x_train.shape[1:])
    h = block(inp, 16, 1)
    h = block(h, 32, 2)
    h = layers.GlobalAveragePooling1D()(h)
    model = keras.Model(inp, layers.Dense(4, activation="softmax")(h))
    model.compile(keras.optimizers.Adam(5e-3), "sparse_categorical_crossentropy",
                  metrics=["sparse_categorical_accuracy"])
    model.fit(x_train, y_train, batch_size=32, epochs=args.epochs, validation_split=0.15, verbose=2,
              callbacks=[keras.callbacks.ReduceLROnPlateau(patience=2, factor=0.5)])
    print("test", model.evaluate(x_test, y_test, verbose=0))
    pred = model.predict(x_test, verbose=0).argmax(1)
    print("per class", [round(float((pred[y_test == c] == c).mean()), 3) for c in range(4)])


if __name__ == "__main__":
    main()
