import numpy as np
import tensorflow as tf
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

tf.random.set_seed(10)
np.random.seed(10)
X, y = load_diabetes(return_X_y=True)
y = (y - y.mean()) / y.std()
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=10)
sc = StandardScaler().fit(X_train)
X_train, X_test = sc.transform(X_train).astype("float32"), sc.transform(X_test).astype("float32")
y_train, y_test = y_train.astype("float32"), y_test.astype("float32")

ds = tf.data.Dataset.from_tensor_slices((X_train, y_train)).shuffle(400, seed=1).batch(32)
W1 = tf.Variable(tf.random.normal([10, 32], stddev=0.3)); b1 = tf.Variable(tf.zeros([32]))
W2 = tf.Variable(tf.random.normal([32, 1], stddev=0.2)); b2 = tf.Variable(tf.zeros([1]))
variables = [W1, b1, W2, b2]
optimizer = tf.keras.optimizers.Adam(3e-3)


def forward(x):
    return tf.nn.tanh(x @ W1 + b1) @ W2 + b2


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        pred = forward(x)
        loss = tf.reduce_mean(tf.square(pred - y))
    grads = tape.gradient(loss, variables)
    optimizer.apply_gradients(zip(grads, variables))
    return loss


for epoch in range(40):
    m = tf.keras.metrics.Mean()
    for xb, yb in ds:
        m.update_state(train_step(xb, yb))
    if epoch % 5 == 0:
        print(f"epoch {epoch:3d} loss {m.result().numpy():.4f}")

p = forward(X_test).numpy()[:, 0]
print("test R2: %.4f" % (1 - np.sum((p - y_test) ** 2) / np.sum((y_test - y_test.mean()) ** 2)))
