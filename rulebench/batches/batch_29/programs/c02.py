import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np, tensorflow as tf, keras
from keras import layers

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)

def make(n, s=24):
    """noisy images with one bright ellipse; mask = ellipse"""
    yy, xx = np.mgrid[:s, :s]
    X, M = [], []
    for _ in range(n):
        cx, cy = rng.uniform(4, s - 4, 2); a, b = rng.uniform(2, 5, 2)
        m = ((xx - cx) / a) ** 2 + ((yy - cy) / b) ** 2 < 1
        X.append(m * 0.8 + 0.4 * rng.normal(size=(s, s))); M.append(m)
    return np.array(X, "float32")[..., None], np.array(M, "float32")[..., None]

xtr, mtr = make(600)
xte, mte = make(200)

augment = keras.Sequential([layers.RandomFlip("horizontal_and_vertical"), layers.RandomContrast(0.1, value_range=(-2, 3))])

ds = (tf.data.Dataset.from_tensor_slices((xtr, mtr))
      .shuffle(600, seed=1).batch(20)
      .map(lambda x, m: (augment(x, training=True), m))
      .prefetch(2))

def conv(f): return layers.Conv2D(f, 3, padding="same", activation="relu")
i = keras.Input((24, 24, 1))
a = conv(8)(i)
b = conv(16)(layers.MaxPooling2D()(a))
c = layers.UpSampling2D()(conv(16)(b))
o = layers.Conv2D(1, 1, activation="sigmoid")(conv(8)(layers.Concatenate()([a, c])))
unet = keras.Model(i, o)
unet.compile(keras.optimizers.Adam(3e-3), loss="binary_crossentropy")
unet.fit(ds, epochs=12, verbose=2)

p = unet.predict(xte, verbose=0) > 0.5
t = mte > 0.5
iou = (p & t).sum() / (p | t).sum()
print("test IoU: %.4f" % iou)
