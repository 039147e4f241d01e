"""Images to train on that need not be downloaded: drawn shapes, of four kinds."""

import numpy as np

SIZE = 28


def draw(count, seed):
    """Return images, shape [count, 1, 28, 28], float32 from 0 to 1, and the kind of each, float32.

    The kinds are a disc, a ring, a square and a cross, anywhere, on noise.
    """
    random = np.random.default_rng(seed)
    kinds = random.integers(0, 4, count)
    middle = random.integers(10, 18, (2, count, 1, 1))
    size = random.integers(5, 9, (count, 1, 1))
    rows, columns = np.mgrid[:SIZE, :SIZE][:, None]
    down, right = rows - middle[0], columns - middle[1]
    distance = np.hypot(down, right)
    box = np.maximum(abs(down), abs(right))
    drawn = np.stack([
        distance < size,
        abs(distance - size) < 1.5,
        box < size,
        (np.minimum(abs(down), abs(right)) < 2) & (box < size),
    ])  # fmt: skip
    images = drawn[kinds, np.arange(count)] * 0.8
    images = images + random.uniform(0, 0.2, images.shape)
    return images[:, None].astype(np.float32), kinds.astype(np.float32)
