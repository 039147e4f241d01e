"""Few labels: learn features with an autoencoder on all of the digits, freeze
the encoder, then train two heads (digit, odd/even) on 200 labelled pictures."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 13
keras.utils.set_random_seed(SEED)


def build_encoder():
    return keras.Sequential([
        keras.Input((64,)),
        layers.Dense(128, activation="relu"),
        layers.Dense(64, activation="relu"),
    ], name="encoder")


def main():
    data = load_digits()
    x = (data.data / 16.0).astype("float32")
    y = data.target
    x_pool, x_test, y_pool, y_test = train_test_split(x, y, test_size=400, stratify=y, random_state=SEED)
    x_few, _, y_few, _ = train_test_split(x_pool, y_pool, train_size=200, stratify=y_pool,
                                          random_state=SEED)

    # 1. unsupervised
    encoder = build_encoder()
    auto = keras.Sequential([
        encoder,
        layers.Dense(128, activation="relu"),
        layers.Dense(64, activation="sigmoid"),
    ])
    auto.compile(optimizer="adam", loss="binary_crossentropy")
    auto.fit(x_pool, x_pool, batch_size=64, epochs=15, verbose=2)

    # 2. supervised, the encoder stays as it is
    encoder.trainable = False
    inputs = keras.Input((64,))
    features = encoder(inputs, training=False)
    features = layers.BatchNormalization()(features)
    digit = layers.Dense(10, activation="softmax", name="digit")(features)
    even = layers.Dense(1, activation="sigmoid", name="even")(features)
    model = keras.Model(inputs, {"digit": digit, "even": even})
    model.compile(optimizer=keras.optimizers.Adam(5e-3),
                  loss={"digit": "sparse_categorical_crossentropy", "even": "binary_crossentropy"},
                  loss_weights={"digit": 1.0, "even": 0.5},
                  metrics={"digit": ["accuracy"], "even": ["accuracy"]})
    print("trainable tensors:", len(model.trainable_weights),
          "frozen:", len(model.non_trainable_weights))

    def targets(t):
        return {"digit": t, "even": (t % 2 == 0).astype("float32")[:, None]}

    model.fit(x_few, targets(y_few), batch_size=20, epochs=25, verbose=2)
    result = model.evaluate(x_test, targets(y_test), batch_size=200, verbose=0, return_dict=True)
    for name in sorted(result):
        print("%-16s %.4f" % (name, result[name]))


if __name__ == "__main__":
    main()
