"""A training as a notebook of smdebug describes it, and what the notebook reads of it.

The training has no word of us. ``HOOKED`` is the same with a hook of smdebug's in it.
"""

from __future__ import annotations

TRAINING = """
import argparse

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, init
from mxnet.gluon import nn
from mxnet.gluon.data.vision import transforms
{imports}

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=256)
parser.add_argument("--epochs", type=int, default=10)
parser.add_argument("--learning_rate", type=float, default=0.1)
options = parser.parse_args()
mx.random.seed(0)
np.random.seed(0)


def images(number):
    # in place of FashionMNIST, which would have to be downloaded
    labels = np.random.randint(0, 10, number).astype("int32")
    shades = labels[:, None, None, None] * 25 + np.random.randint(0, 25, (number, 28, 28, 1))
    return gluon.data.ArrayDataset(mx.nd.array(shades, dtype="uint8"), labels)


def accuracy(output, label):
    return (output.argmax(axis=1) == label.astype("float32")).mean().asscalar()


transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize(0.13, 0.31)])
train_data, valid_data = (
    gluon.data.DataLoader(
        images(number).transform_first(transform), batch_size=options.batch_size, num_workers=1
    )
    for number in (6 * options.batch_size, options.batch_size)
)
net = nn.HybridSequential()
net.add(
    nn.Conv2D(channels=6, kernel_size=5, activation="relu"),
    nn.MaxPool2D(pool_size=2, strides=2),
    nn.Conv2D(channels=16, kernel_size=3, activation="relu"),
    nn.MaxPool2D(pool_size=2, strides=2),
    nn.Flatten(),
    nn.Dense(120, activation="relu"),
    nn.Dense(10),
)
net.initialize(init=init.Xavier(), ctx=mx.cpu())
{hook}
softmax_cross_entropy = gluon.loss.SoftmaxCrossEntropyLoss()
trainer = gluon.Trainer(net.collect_params(), "sgd", {{"learning_rate": options.learning_rate}})
for epoch in range(options.epochs):
    train_loss, train_acc, valid_acc = 0.0, 0.0, 0.0
    {train}
    for data, label in train_data:
        data = data.as_in_context(mx.cpu(0))
        with autograd.record():
            output = net(data)
            loss = softmax_cross_entropy(output, label)
        loss.backward()
        trainer.step(options.batch_size)
        train_loss += loss.mean().asscalar()
        train_acc += accuracy(output, label)
    {evaluate}
    for data, label in valid_data:
        valid_acc += accuracy(net(data.as_in_context(mx.cpu(0))), label)
    print("Epoch %d: loss %r, train acc %r, test acc %r" % (
        epoch, train_loss / len(train_data), train_acc / len(train_data), valid_acc))
"""

PLAIN = TRAINING.format(imports="", hook="", train="", evaluate="")
HOOKED = TRAINING.format(
    imports="from smdebug.mxnet import Hook, modes",
    hook="hook = Hook.create_from_json_file()\nhook.register_hook(net)",
    train="hook.set_mode(modes.TRAIN)",
    evaluate="hook.set_mode(modes.EVAL)",
)
#: How the notebook runs it.
ARGUMENTS = ("--batch-size", "16", "--learning_rate", "0.1", "--epochs", "2")

#: What the notebook asks to be saved, as SageMaker writes it down.
CONFIG = {
    "S3OutputPath": "s3://bucket/smdebug-real-time-demo",
    "CollectionConfigurations": [
        {
            "CollectionName": "conv0_tensors",
            "CollectionParameters": {"include_regex": "conv0.*", "save_interval": "2"},
        }
    ],
}

#: Its cells that read what was saved.
CELLS = """
import time
import numpy as np
from smdebug.mxnet import modes
from smdebug.trials import create_trial

def get_data(trial, tname, batch_index, steps_range, mode=modes.GLOBAL):
    tensor = trial.tensor(tname)
    vals = []
    for s in steps_range:
        val = tensor.value(step_num=s, mode=mode)[batch_index][0]
        vals.append(val)
    return vals

trial = create_trial(path)
names = trial.tensor_names(collection="conv0_tensors")

batch_index = 0
layer = 'conv0_output_0'
steps = 0
while steps == 0:
    steps = trial.steps()
rendered_steps, images = [], []
loaded_all_steps = False
while not loaded_all_steps:
    loaded_all_steps = trial.loaded_all_steps
    steps = trial.steps()
    steps_to_render = list(set(steps).symmetric_difference(set(rendered_steps)))
    images.extend(get_data(trial, layer, batch_index, steps_to_render))
    rendered_steps.extend(steps_to_render)

layer = 'conv0_weight'
steps = trial.tensor(layer).steps()
kernels = [
    get_data(trial, layer, i, trial.tensor(layer).steps())
    for i in range(0, trial.tensor(layer).value(step_num=steps[0]).shape[0])
]
"""
