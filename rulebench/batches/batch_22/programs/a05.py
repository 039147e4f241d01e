import os
os.environ["KERAS_BACKEND"] = "jax"

import argparse
import jax
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=8)
parser.add_argument("--batch-size", type=int, default=64)
parser.add_argument("--lr", type=float, default=1e-3)
args = parser.parse_args()

keras.utils.set_random_seed(0)

digits = load_digits()
images = digits.images[..., None].astype("float32")
labels = digits.target.astype("int32")
x_train, x_test, y_train, y_test = train_test_split(
    images, labels, test_size=0.25, stratify=labels, random_state=0)


def conv_bn(x, filters, strides=1):
    x = layers.Conv2D(filters, 3, strides=strides, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization(momentum=0.9)(x)
    return layers.ReLU()(x)


inputs = keras.Input((8, 8, 1))
h = conv_bn(inputs, 16)
h = conv_bn(h, 32, strides=2)
h = conv_bn(h, 32)
h = layers.GlobalAveragePooling2D()(h)
outputs = layers.Dense(10)(h)
model = keras.Model(inputs, outputs)

optimizer = keras.optimizers.Adam(args.lr)
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer.build(model.trainable_variables)


def compute_loss(trainable, non_trainable, x, y):
    logits, non_trainable = model.stateless_call(trainable, non_trainable, x, training=True)
    return loss_fn(y, logits), (logits, non_trainable)


grad_fn = jax.value_and_grad(compute_loss, has_aux=True)


@jax.jit
def train_step(trainable, non_trainable, opt_vars, x, y):
    (loss, (logits, _)), grads = grad_fn(trainable, non_trainable, x, y)
    trainable, opt_vars = optimizer.stateless_apply(opt_vars, grads, trainable)
    acc = (logits.argmax(-1) == y).mean()
    return trainable, non_trainable, opt_vars, loss, acc


tv = [v.value for v in model.trainable_variables]
ntv = [v.value for v in model.non_trainable_variables]
ov = [v.value for v in optimizer.variables]

rng = np.random.default_rng(0)
steps = len(x_train) // args.batch_size
for epoch in range(args.epochs):
    order = rng.permutation(len(x_train))
    losses, accs = [], []
    for i in range(steps):
        idx = order[i * args.batch_size:(i + 1) * args.batch_size]
        tv, ntv, ov, loss, acc = train_step(tv, ntv, ov, x_train[idx], y_train[idx])
        losses.append(float(loss))
        accs.append(float(acc))
    print(f"epoch {epoch + 1:2d}  loss {np.mean(losses):.4f}  acc {np.mean(accs):.4f}")

for var, value in zip(model.trainable_variables, tv):
    var.assign(value)
for var, value in zip(model.non_trainable_variables, ntv):
    var.assign(value)

logits = model.predict(x_test, verbose=0)
print("test accuracy:", (logits.argmax(-1) == y_test).mean())
