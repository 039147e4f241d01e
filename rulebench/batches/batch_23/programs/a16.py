import os
os.environ["KERAS_BACKEND"] = "jax"

import numpy as np
import keras
from keras import layers
from sklearn.feature_extraction.text import TfidfVectorizer

# Support tickets: softmax regression on tf-idf vectors.
keras.utils.set_random_seed(33)
rng = np.random.default_rng(33)

TOPICS = {
    "billing": "invoice refund charge card payment price receipt tax".split(),
    "login": "password account reset locked email code signin user".split(),
    "shipping": "parcel courier delay tracking address box delivery depot".split(),
    "returns": "return exchange size damaged label pickup warranty broken".split(),
}
FILLER = "please hello thanks today order help need issue again team still waiting since week".split()
names = list(TOPICS)


def ticket(k):
    own = rng.choice(TOPICS[names[k]], rng.integers(1, 4))
    other = rng.choice(TOPICS[names[rng.integers(4)]], 1)
    fill = rng.choice(FILLER, rng.integers(6, 14))
    words = np.concatenate([own, other, fill])
    rng.shuffle(words)
    return " ".join(words)


labels = rng.integers(0, 4, 3000)
texts = [ticket(k) for k in labels]

vec = TfidfVectorizer(ngram_range=(1, 2), min_df=3)
X_train = vec.fit_transform(texts[:2400]).toarray().astype("float32")
X_test = vec.transform(texts[2400:]).toarray().astype("float32")
y_train, y_test = labels[:2400], labels[2400:]
print("features:", X_train.shape[1], "mean |x|:", float(np.abs(X_train).mean()))

model = keras.Sequential([
    keras.Input((X_train.shape[1],)),
    layers.Dense(4, kernel_initializer="zeros", kernel_regularizer=keras.regularizers.L2(1e-4)),
])
model.compile(
    optimizer=keras.optimizers.SGD(learning_rate=5.0),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.fit(X_train, y_train, validation_data=(X_test, y_test), epochs=15, batch_size=64, verbose=2)

W = np.asarray(model.layers[-1].kernel)
terms = vec.get_feature_names_out()
for k, name in enumerate(names):
    print(name, "->", [terms[i] for i in np.argsort(W[:, k])[::-1][:5]])
print("test accuracy:", model.evaluate(X_test, y_test, verbose=0)[1])
