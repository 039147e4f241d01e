import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import argparse
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


def get_args():
    p = argparse.ArgumentParser(description="Small residual CNN on the sklearn digits")
    p.add_argument("--epochs", type=int, default=12)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--momentum", type=float, default=0.9)
    p.add_argument("--wd", type=float, default=1e-4)
    p.add_argument("--seed", type=int, default=11)
    return p.parse_args()


def load(seed):
    x, y = load_digits(return_X_y=True)
    x = (x.reshape(-1, 8, 8, 1) / 16.0).astype("float32")
    return train_test_split(x, y, test_size=0.25, random_state=seed, stratify=y)


def block(x, filters, wd):
    reg = keras.regularizers.L2(wd)
    skip = x
    h = layers.Conv2D(filters, 3, padding="same", use_bias=False, kernel_regularizer=reg)(x)
    h = layers.BatchNormalization()(h)
    h = layers.ReLU()(h)
    h = layers.Conv2D(filters, 3, padding="same", use_bias=False, kernel_regularizer=reg)(h)
    h = layers.BatchNormalization()(h)
    if skip.shape[-1] != filters:
        skip = layers.Conv2D(filters, 1, use_bias=False, kernel_regularizer=reg)(skip)
    return layers.ReLU()(layers.Add()([h, skip]))


def build(wd):
    inp = keras.Input((8, 8, 1))
    x = block(inp, 8, wd)
    x = layers.MaxPooling2D()(x)
    x = block(x, 16, wd)
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inp, layers.Dense(10)(x), name="tiny_resnet")


class LrLogger(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        lr = float(keras.ops.convert_to_numpy(self.model.optimizer.learning_rate))
        print(f"epoch {epoch + 1:2d} lr {lr:.6f} loss {logs['loss']:.4f} "
              f"acc {logs['acc']:.4f} val_acc {logs['val_acc']:.4f}")


def main():
    args = get_args()
    keras.utils.set_random_seed(args.seed)
    x_tr, x_te, y_tr, y_te = load(args.seed)
    steps_per_epoch = int(np.ceil(len(x_tr) / args.batch_size))
    print("train", x_tr.shape, "test", x_te.shape, "steps per epoch", steps_per_epoch)

    schedule = keras.optimizers.schedules.CosineDecay(
        initial_learning_rate=args.lr, decay_steps=args.epochs)
    model = build(args.wd)
    model.compile(
        optimizer=keras.optimizers.SGD(schedule, momentum=args.momentum, nesterov=True),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=[keras.metrics.SparseCategoricalAccuracy(name="acc")],
    )
    model.fit(x_tr, y_tr, epochs=args.epochs, batch_size=args.batch_size,
              validation_data=(x_te, y_te), verbose=0, callbacks=[LrLogger()])
    loss, acc = model.evaluate(x_te, y_te, verbose=0)
    print(f"final test loss {loss:.4f} acc {acc:.4f}")


if __name__ == "__main__":
    main()
