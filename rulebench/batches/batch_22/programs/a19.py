"""Small-batch training with gradient accumulation and averaged weights (Keras 3 / JAX)."""
import os
os.environ["KERAS_BACKEND"] = "jax"

from dataclasses import dataclass

import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_moons


@dataclass
class Settings:
    micro_batch: int = 8
    accumulate: int = 4
    lr: float = 4e-3
    ema: float = 0.98
    epochs: int = 10
    seed: int = 10


def load(cfg):
    x, y = make_moons(3000, noise=0.22, random_state=cfg.seed)
    extra = np.random.default_rng(cfg.seed).normal(size=(len(x), 4))
    x = np.concatenate([x, extra], 1)
    x = (x - x[:2400].mean(0)) / x[:2400].std(0)
    return (x[:2400].astype("float32"), y[:2400]), (x[2400:].astype("float32"), y[2400:])


def build(cfg):
    model = keras.Sequential([
        keras.Input((6,)),
        layers.Dense(48, activation="silu"),
        layers.Dense(48, activation="silu"),
        layers.Dense(1),
    ])
    opt = keras.optimizers.Adam(
        cfg.lr,
        gradient_accumulation_steps=cfg.accumulate,
        use_ema=True,
        ema_momentum=cfg.ema,
        ema_overwrite_frequency=None,
    )
    model.compile(
        optimizer=opt,
        loss=keras.losses.BinaryCrossentropy(from_logits=True),
        metrics=[keras.metrics.BinaryAccuracy(threshold=0.0)],
    )
    return model


def main():
    cfg = Settings()
    keras.utils.set_random_seed(cfg.seed)
    (x_tr, y_tr), (x_te, y_te) = load(cfg)
    model = build(cfg)
    model.fit(
        x_tr, y_tr,
        batch_size=cfg.micro_batch,
        epochs=cfg.epochs,
        validation_data=(x_te, y_te),
        callbacks=[keras.callbacks.SwapEMAWeights()],
        verbose=2,
    )
    model.optimizer.finalize_variable_values(model.trainable_variables)
    print("test with averaged weights:", model.evaluate(x_te, y_te, verbose=0))


if __name__ == "__main__":
    main()
