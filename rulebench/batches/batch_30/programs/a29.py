# Segment cells in noisy 32x32 tiles, mini U-Net
import os
os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(15)
rng = np.random.default_rng(15)


def tile():
    yy, xx = np.mgrid[0:32, 0:32]
    m = np.zeros((32, 32), bool)
    for _ in range(rng.integers(1, 4)):
        cy, cx = rng.uniform(4, 28, 2)
        a, b = rng.uniform(2.5, 5, 2)
        m |= ((yy - cy) / a) ** 2 + ((xx - cx) / b) ** 2 < 1
    img = 0.3 + 0.35 * m + 0.2 * rng.normal(size=m.shape)
    return img, m


pairs = [tile() for _ in range(500)]
X = np.array([p[0] for p in pairs], "float32")[..., None]
Y = np.array([p[1] for p in pairs], "float32")[..., None]
X_train, Y_train, X_val, Y_val = X[:400], Y[:400], X[400:], Y[400:]
print("foreground share: %.3f" % Y.mean())


def conv(x, f):
    return layers.Conv2D(f, 3, padding="same", activation="relu", kernel_initializer="he_normal")(x)


inputs = keras.Input((32, 32, 1))
c1 = conv(inputs, 8)
p1 = layers.MaxPooling2D()(c1)
c2 = conv(p1, 16)
p2 = layers.MaxPooling2D()(c2)
c3 = conv(p2, 32)
u2 = layers.Concatenate()([layers.UpSampling2D()(c3), c2])
c4 = conv(u2, 16)
u1 = layers.Concatenate()([layers.UpSampling2D()(c4), c1])
c5 = conv(u1, 8)
outputs = layers.Conv2D(1, 1)(c5)
model = keras.Model(inputs, outputs)
model.compile(optimizer=keras.optimizers.Adam(2e-3), loss="binary_crossentropy")

model.fit(X_train, Y_train, validation_data=(X_val, Y_val), epochs=8, batch_size=16, verbose=2)

pred = model.predict(X_val, verbose=0) > 0.5
inter = (pred * Y_val).sum()
print("Dice on validation tiles: %.4f" % (2 * inter / (pred.sum() + Y_val.sum())))
