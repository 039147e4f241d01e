import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import torch
import keras
from keras import layers, ops
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

torch.set_num_threads(1)
seed = 4
keras.utils.set_random_seed(seed)
rng = np.random.default_rng(seed)

digits = load_digits()
x = (digits.images / 16.0).astype("float32")
y = digits.target
order = rng.permutation(len(x))
train, test = order[:1300], order[1300:]


def augment(batch):
    out = np.zeros_like(batch)
    for i, im in enumerate(batch):
        dx, dy = rng.integers(-1, 2, 2)
        out[i] = np.roll(np.roll(im, dx, 0), dy, 1)
    out *= rng.uniform(0.7, 1.3, (len(batch), 1, 1))
    out += rng.normal(0, 0.05, out.shape)
    out *= rng.random(out.shape) > 0.1
    return out.reshape(len(batch), 64).astype("float32")


def block(units, act=True):
    ls = [layers.Dense(units, use_bias=False), layers.BatchNormalization()]
    return ls + ([layers.Activation("relu")] if act else [])


encoder = keras.Sequential([keras.Input((64,))] + block(256) + block(128))
projector = keras.Sequential([keras.Input((128,))] + block(128) + block(64, act=False))
predictor = keras.Sequential([keras.Input((64,))] + block(32) + [layers.Dense(64)])


class SimSiam(keras.Model):
    def train_step(self, data):
        views = keras.utils.unpack_x_y_sample_weight(data)[0]
        a, b = views[:, 0], views[:, 1]
        self.zero_grad()
        za, zb = projector(encoder(a, training=True), training=True), projector(encoder(b, training=True), training=True)
        pa, pb = predictor(za, training=True), predictor(zb, training=True)
        loss = 0.5 * (self.neg_cos(pa, zb) + self.neg_cos(pb, za))
        loss.backward()
        grads = [v.value.grad for v in self.trainable_weights]
        with torch.no_grad():
            self.optimizer.apply(grads, self.trainable_weights)
            std = ops.mean(ops.std(za / ops.norm(za, axis=1, keepdims=True), axis=0))
        return {"loss": loss.detach(), "z_std": std}

    @staticmethod
    def neg_cos(p, z):
        z = z.detach()
        return -torch.nn.functional.cosine_similarity(p, z, dim=1).mean()

    def __init__(self):
        super().__init__()
        self.encoder, self.projector, self.predictor = encoder, projector, predictor

    def call(self, v):
        return self.encoder(v)


def probe():
    f = lambda i: keras.ops.convert_to_numpy(encoder(x[i].reshape(-1, 64), training=False))
    few = train[:60]
    return LogisticRegression(max_iter=500).fit(f(few), y[few]).score(f(test), y[test])


model = SimSiam()
model.build((None, 64))
model.compile(optimizer=keras.optimizers.SGD(0.03, momentum=0.9, weight_decay=5e-4))
print("probe on the random encoder: %.4f" % probe())
for epoch in range(40):
    views = np.stack([augment(x[train]), augment(x[train])], 1)
    h = model.fit(views, batch_size=130, epochs=1, verbose=0).history
    if epoch % 8 == 7:
        print(f"epoch {epoch + 1} loss {h['loss'][0]:.4f} z std {h['z_std'][0]:.4f} (1/sqrt(d)={1 / 8:.3f}) probe {probe():.4f}")
print("final linear probe accuracy (60 labels): %.4f" % probe())
