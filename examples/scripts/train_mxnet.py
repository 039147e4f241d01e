"""Trains a small convolutional network of MXNet Gluon on drawn shapes; it knows of no debugger."""

import argparse

import mxnet as mx
from mxnet import autograd, gluon
from shapes import draw


def network():
    net = gluon.nn.HybridSequential(prefix="")
    with net.name_scope():
        net.add(
            gluon.nn.Conv2D(channels=6, kernel_size=5, activation="relu", prefix="conv0_"),
            gluon.nn.MaxPool2D(pool_size=2, strides=2),
            gluon.nn.Conv2D(channels=16, kernel_size=3, activation="relu", prefix="conv1_"),
            gluon.nn.MaxPool2D(pool_size=2, strides=2),
            gluon.nn.Dense(64, activation="relu"),
            gluon.nn.Dense(4),
        )
    return net


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--learning_rate", type=float, default=0.1)
    parser.add_argument("--epochs", type=int, default=10)
    told = parser.parse_args()
    mx.random.seed(0)
    net = network()
    net.initialize(mx.init.Xavier())
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": told.learning_rate})
    images, labels = draw(50 * told.batch_size, seed=0)
    batches = gluon.data.DataLoader(
        gluon.data.ArrayDataset(images, labels), batch_size=told.batch_size, shuffle=True
    )
    for epoch in range(told.epochs):
        for image, label in batches:
            with autograd.record():
                loss = loss_of(net(image), label)
            loss.backward()
            trainer.step(told.batch_size)
        print(f"epoch {epoch} loss {loss.mean().asscalar():.4f}", flush=True)


if __name__ == "__main__":
    main()
