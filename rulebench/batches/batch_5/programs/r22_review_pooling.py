import numpy as np
import tensorflow as tf

tf.random.set_seed(6)
rng = np.random.default_rng(6)

# toy reviews: token 0 is padding, a few words carry polarity
VOCAB, MAXLEN = 300, 30
polarity = np.zeros(VOCAB)
polarity[1:41], polarity[41:81] = 1, -1


def reviews(n):
    ids = np.zeros((n, MAXLEN), dtype=np.int32)
    lab = np.zeros(n, dtype=np.float32)
    for i in range(n):
        L = rng.integers(8, MAXLEN - 2)
        want = rng.integers(0, 2)
        words = rng.integers(81, VOCAB, L)
        k = rng.integers(2, 5)
        words[:k] = rng.integers(1, 41, k) if want else rng.integers(41, 81, k)
        if rng.random() < 0.3:
            words[k] = rng.integers(1, 81)
        rng.shuffle(words)
        ids[i, :L], lab[i] = words, want
    return ids, lab


x_train, y_train = reviews(3000)
x_test, y_test = reviews(800)
train_ds = tf.data.Dataset.from_tensor_slices((x_train, y_train)).shuffle(3000, seed=6).batch(64)


class PooledClassifier(tf.Module):
    def __init__(self, dim=32):
        super().__init__()
        init = tf.keras.initializers.GlorotUniform(seed=6)
        self.emb = tf.Variable(tf.random.normal((VOCAB, dim), stddev=0.1, seed=6))
        self.w1, self.b1 = tf.Variable(init((dim, 32))), tf.Variable(tf.zeros(32))
        self.w2, self.b2 = tf.Variable(init((32, 1))), tf.Variable(tf.zeros(1))

    def __call__(self, ids):
        e = tf.gather(self.emb, ids)
        mask = tf.cast(tf.equal(ids, 0), tf.float32)[..., None]
        pooled = tf.reduce_sum(e * mask, axis=1) / (tf.reduce_sum(mask, axis=1) + 1e-6)
        h = tf.nn.relu(pooled @ self.w1 + self.b1)
        return tf.squeeze(h @ self.w2 + self.b2, -1)


model = PooledClassifier()
optimizer = tf.keras.optimizers.Adam(3e-3)


@tf.function
def train_step(ids, lab):
    with tf.GradientTape() as tape:
        logits = model(ids)
        loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=lab, logits=logits))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


for epoch in range(10):
    losses = [float(train_step(a, b)) for a, b in train_ds]
    acc = np.mean((model(x_test).numpy() > 0) == (y_test > 0.5))
    print(f"Epoch {epoch + 1}: loss={np.mean(losses):.4f} test_acc={acc:.4f}")
