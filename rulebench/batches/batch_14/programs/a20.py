"""Mean teacher on two moons with 12 labels (Keras 3, TensorFlow train_step)."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import argparse
import numpy as np
import tensorflow as tf
import keras
from keras import layers, ops
from sklearn.datasets import make_moons


def net():
    return keras.Sequential([keras.Input((2,)),
                             layers.GaussianNoise(0.3),
                             layers.Dense(64, activation="relu"),
                             layers.Dense(64, activation="relu"),
                             layers.Dense(2)])


class MeanTeacher(keras.Model):
    def __init__(self, decay, ramp_steps, weight):
        super().__init__()
        self.student, self.teacher = net(), net()
        self.teacher.set_weights(self.student.get_weights())
        self.teacher.trainable = False
        self.decay, self.ramp_steps, self.weight = decay, float(ramp_steps), weight
        self.ce = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self.sup = keras.metrics.Mean(name="sup")
        self.cons = keras.metrics.Mean(name="cons")

    @property
    def metrics(self):
        return [self.sup, self.cons]

    def call(self, x, training=False):
        return self.teacher(x, training=False)

    def train_step(self, data):
        (xl, xu), y = data
        step = ops.cast(self.optimizer.iterations, "float32")
        ramp = ops.exp(-5.0 * ops.square(1.0 - ops.minimum(step / self.ramp_steps, 1.0)))
        x_all = ops.concatenate([xl, xu], axis=0)
        target = ops.softmax(self.teacher(x_all, training=True))
        with tf.GradientTape() as tape:
            logits = self.student(x_all, training=True)
            sup = self.ce(y, logits[: ops.shape(xl)[0]])
            cons = ops.mean(ops.square(ops.softmax(logits) - ops.stop_gradient(target)))
            loss = sup + self.weight * ramp * cons
        tv = self.student.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, tv), tv))
        for t, s in zip(self.teacher.weights, self.student.weights):
            if t.dtype == "float32":
                t.assign(self.decay * t + (1.0 - self.decay) * s)
        self.sup.update_state(sup)
        self.cons.update_state(cons)
        return {m.name: m.result() for m in self.metrics}


def batches(x, y, xu, steps, bl, bu, seed):
    rng = np.random.default_rng(seed)
    il = np.concatenate([rng.permutation(len(x))[:bl] for _ in range(steps)])
    iu = rng.integers(0, len(xu), steps * bu)
    for s in range(steps):
        a, b = il[s * bl:(s + 1) * bl], iu[s * bu:(s + 1) * bu]
        yield (x[a], xu[b]), y[a]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=1500)
    ap.add_argument("--decay", type=float, default=0.99)
    ap.add_argument("--weight", type=float, default=5.0)
    a = ap.parse_args()
    keras.utils.set_random_seed(3)
    X, Y = make_moons(2000, noise=0.1, random_state=3)
    X = ((X - X.mean(0)) / X.std(0)).astype("float32")
    lab = np.concatenate([np.where(Y[:1200] == c)[0][:6] for c in (0, 1)])
    xl, yl, xu = X[lab], Y[lab], X[:1200]
    xt, yt = X[1200:], Y[1200:]

    model = MeanTeacher(a.decay, a.steps * 0.4, a.weight)
    model.compile(optimizer=keras.optimizers.Adam(3e-3))
    ds = tf.data.Dataset.from_generator(
        lambda: batches(xl, yl, xu, a.steps, 12, 100, 3),
        output_signature=((tf.TensorSpec((None, 2)), tf.TensorSpec((None, 2))), tf.TensorSpec((None,), tf.int64)))
    model.fit(ds.repeat(), steps_per_epoch=100, epochs=a.steps // 100, verbose=2)
    for name, m in (("student", model.student), ("teacher", model.teacher)):
        print(name, "test acc", np.mean(m.predict(xt, verbose=0).argmax(1) == yt))


if __name__ == "__main__":
    main()
