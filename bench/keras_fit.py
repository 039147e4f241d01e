"""What watching costs ``fit`` of a small CNN, on the backend that ``KERAS_BACKEND`` says.

Run in the environment of ``make test-frameworks ENVS=keras``:

    KERAS_BACKEND=jax ~/.cache/stepwatch/frameworks/keras/bin/python bench/keras_fit.py
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

import keras
import numpy as np

from stepwatch.hooks.keras import KerasHook

STEPS, BATCH, ROUNDS = 20, 64, 3


def model() -> keras.Model:
    """Return a CNN for images of 28 by 28."""
    layers = keras.layers
    made = keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            layers.Conv2D(32, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(64, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dropout(0.5),
            layers.Dense(10, activation="softmax"),
        ]
    )
    made.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return made


def step_ms(folder: Path | None, *, on_host: bool = True) -> float:
    """Return the CPU time of a step once everything is compiled, in milliseconds.

    That of all threads, so that what else the machine does matters less.
    """
    keras.utils.set_random_seed(0)
    random = np.random.default_rng(0)
    x = random.normal(size=(STEPS * BATCH, 28, 28, 1)).astype("float32")
    y = random.integers(0, 10, size=STEPS * BATCH)
    hook = nullcontext() if folder is None else KerasHook(run=folder, say=lambda _: None)
    with hook:
        if isinstance(hook, KerasHook):
            hook.backend.on_host = on_host
        made = model()
        made.fit(x[: 2 * BATCH], y[: 2 * BATCH], batch_size=BATCH, verbose=0)
        start = time.process_time()
        made.fit(x, y, batch_size=BATCH, verbose=0)
        return (time.process_time() - start) / STEPS * 1000


def main() -> None:
    """Measure in turn, and print the medians."""
    taken: dict[str, list[float]] = {"plain": [], "watched": [], "watched, in the graph": []}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(ROUNDS):
            taken["plain"].append(step_ms(None))
            taken["watched"].append(step_ms(Path(folder, f"host{number}")))
            if "--in-graph" in sys.argv:
                graph = step_ms(Path(folder, f"graph{number}"), on_host=False)
                taken["watched, in the graph"].append(graph)
    print(keras.backend.backend())
    for what, times in taken.items():
        if times:
            print(f"{what}: {statistics.median(times):.1f} ms of CPU a step")


if __name__ == "__main__":
    main()
