import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import numpy as np
import tensorflow as tf
import keras
from keras import layers

keras.utils.set_random_seed(17)

topics = {
    "sport": "match goal team coach league score player win season stadium".split(),
    "tech": "software chip phone data update cloud laptop network code user".split(),
    "food": "recipe oven sauce bread pepper butter dinner flavour cook salt".split(),
}
common = ("today people say new first good time make year way week report many "
          "still last need find look work use").split()
names = list(topics)


def article(rng, label):
    topical = rng.choice(topics[names[label]], size=6)
    other = rng.choice(topics[names[int(rng.integers(3))]], size=2)
    words = np.concatenate([topical, other, rng.choice(common, size=14)])
    rng.shuffle(words)
    return " ".join(words)


rng = np.random.default_rng(17)
y_train = rng.integers(0, 3, 1600)
y_test = rng.integers(0, 3, 300)
train_texts = [article(rng, l) for l in y_train]
test_texts = [article(rng, l) for l in y_test]


def encode(texts, max_tokens=200, length=24):
    vectorizer = layers.TextVectorization(max_tokens=max_tokens, output_sequence_length=length)
    vectorizer.adapt(tf.constant(texts))
    return vectorizer(tf.constant(texts)).numpy(), vectorizer


x_train, vectorizer = encode(train_texts)
vocab_size = vectorizer.vocabulary_size()
print("vocabulary:", vocab_size, "first words:", vectorizer.get_vocabulary()[:8])

model = keras.Sequential([
    keras.Input((24,)),
    layers.Embedding(200, 24),
    layers.Conv1D(24, 3, activation="relu", padding="same"),
    layers.GlobalMaxPooling1D(),
    layers.Dropout(0.3),
    layers.Dense(3, activation="softmax"),
])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, validation_split=0.15, epochs=8, batch_size=64, verbose=2)

x_test, _ = encode(test_texts)
loss, acc = model.evaluate(x_test, y_test, verbose=0)
print(f"test loss {loss:.4f}  accuracy {acc:.4f}")
pred = model.predict(x_test, verbose=0).argmax(1)
for i, name in enumerate(names):
    print(f"{name:6s} recall {(pred[y_test == i] == i).mean():.3f}")
