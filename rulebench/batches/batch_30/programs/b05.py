# Two-tower retrieval model with in-batch negatives. fit() gets no targets:
# the model adds its own loss.
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers, ops

SEED = 2
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)
U, I, D = 400, 300, 4
pu, qi = rng.normal(size=(U, D)), rng.normal(size=(I, D))
aff = pu @ qi.T * 1.5
prob = np.exp(aff - aff.max(1, keepdims=True))
prob /= prob.sum(1, keepdims=True)
users = np.repeat(np.arange(U), 30)
items = np.concatenate([rng.permutation(rng.choice(I, 30, replace=False, p=prob[u])) for u in range(U)])
last = np.arange(29, len(users), 30)          # leave-one-out
is_train = np.ones(len(users), bool)
is_train[last] = False
u_tr, i_tr, u_te, i_te = users[is_train], items[is_train], users[last], items[last]
freq = np.bincount(i_tr, minlength=I) + 1.0
log_q = np.log(freq / freq.sum()).astype("float32")


class TwoTower(keras.Model):
    def __init__(self, dim=16):
        super().__init__()
        self.user = layers.Embedding(U, dim)
        self.item = layers.Embedding(I, dim)

    def call(self, inputs):
        u, i = inputs["user"], inputs["item"]
        s = ops.matmul(self.user(u), ops.transpose(self.item(i)))
        s = s - ops.take(log_q, i)[None, :]    # sampling-bias correction
        # the same item twice in the batch is not a negative
        same = ops.logical_and(ops.equal(i[:, None], i[None, :]), ops.logical_not(ops.eye(ops.shape(i)[0], dtype="bool")))
        s = ops.where(same, -1e9, s)
        self.add_loss(-ops.mean(ops.diagonal(ops.log_softmax(s, axis=-1))))
        return s


model = TwoTower()
model.compile(optimizer=keras.optimizers.Adam(3e-3), jit_compile=False)
model.fit({"user": u_tr.astype("int32"), "item": i_tr.astype("int32")}, epochs=15, batch_size=128, shuffle=True, verbose=2)

scores = model.user.get_weights()[0] @ model.item.get_weights()[0].T
scores[u_tr, i_tr] = -1e9                    # already seen
rank = (scores > scores[u_te, i_te][:, None]).sum(1)
print("hit@20: %.3f   (popularity: %.3f, chance %.3f)" % (
    (rank < 20).mean(), np.isin(i_te, np.argsort(-freq)[:20]).mean(), 20 / I))
