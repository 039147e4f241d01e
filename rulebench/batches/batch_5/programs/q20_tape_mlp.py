import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

tf.random.set_seed(17)
np.random.seed(17)

X, Y = load_digits(return_X_y=True)
X = X.astype(np.float32)
Y = np.eye(10, dtype=np.float32)[Y]
X_train, X_test, Y_train, Y_test = train_test_split(X, Y, test_size=0.2, random_state=17)
ds = tf.data.Dataset.from_tensor_slices((X_train, Y_train)).shuffle(2000, seed=17).batch(32)

sizes = [64, 128, 64, 10]
W = [tf.Variable(tf.random.normal([a, b], stddev=np.sqrt(2.0 / a))) for a, b in zip(sizes[:-1], sizes[1:])]
b = [tf.Variable(tf.zeros([k])) for k in sizes[1:]]
variables = W + b


def forward(x):
    for i in range(len(W) - 1):
        x = tf.nn.relu(x @ W[i] + b[i])
    return tf.nn.softmax(x @ W[-1] + b[-1])


def loss_fn(y_true, y_prob):
    return tf.reduce_mean(-tf.reduce_sum(y_true * tf.math.log(y_prob), axis=1))


opt = tf.keras.optimizers.Adam(learning_rate=1e-2)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, forward(x))
    grads = tape.gradient(loss, variables)
    opt.apply_gradients(zip(grads, variables))
    return loss


for epoch in range(30):
    total = 0.0
    for step, (xb, yb) in enumerate(ds):
        total += float(train_step(xb, yb))
    prob = forward(X_test).numpy()
    acc = (prob.argmax(1) == Y_test.argmax(1)).mean()
    print("epoch", epoch, "loss", total / (step + 1), "test acc", acc)
