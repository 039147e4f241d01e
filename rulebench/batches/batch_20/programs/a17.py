"""Intent classification of short token sequences (Keras on torch)."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(31)
rng = np.random.default_rng(31)

PAD, UNK = 0, 1
intents = {
    "weather": ["rain", "sun", "forecast", "umbrella", "storm"],
    "music": ["play", "song", "album", "louder", "artist"],
    "alarm": ["wake", "timer", "minutes", "snooze", "alarm"],
    "news": ["headline", "politics", "report", "paper", "latest"],
}
filler = [f"w{i}" for i in range(150)]
names = list(intents)


def sample():
    label = rng.integers(len(names))
    words = list(rng.choice(filler, size=rng.integers(3, 10)))
    for w in rng.choice(intents[names[label]], size=rng.integers(1, 3)):
        words.insert(rng.integers(len(words) + 1), w)
    return words, label


samples = [sample() for _ in range(1500)]
vocab = {"<pad>": PAD, "<unk>": UNK}
for words, _ in samples[:1200]:
    for w in words:
        vocab.setdefault(w, len(vocab))
ids = [[vocab.get(w, UNK) for w in words] for words, _ in samples]
x = keras.utils.pad_sequences(ids, maxlen=12, padding="post")
y = np.array([l for _, l in samples])
x_train, y_train, x_test, y_test = x[:1200], y[:1200], x[1200:], y[1200:]


class IntentModel(keras.Model):
    def __init__(self, vocab_size, n_classes):
        super().__init__()
        self.emb = layers.Embedding(vocab_size, 24, mask_zero=True)
        self.pool = layers.GlobalAveragePooling1D()
        self.conv = layers.Dense(32, activation="relu")
        self.drop = layers.Dropout(0.3)
        self.out = layers.Dense(n_classes)

    def call(self, tokens, training=False):
        h = self.conv(self.emb(tokens))
        h = self.pool(h, mask=self.emb.compute_mask(tokens))
        return self.out(self.drop(h, training=training))


model = IntentModel(len(vocab), len(names))
model.compile(
    optimizer=keras.optimizers.Adam(1e-2),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.fit(x_train, y_train, batch_size=32, epochs=6, validation_split=0.1, verbose=2)
print(dict(zip(model.metrics_names, model.evaluate(x_test, y_test, verbose=0))))
pred = model.predict(x_test, verbose=0).argmax(-1)
for i, name in enumerate(names):
    print(f"{name:8s} recall {np.mean(pred[y_test == i] == i):.3f}")
