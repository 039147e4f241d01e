import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import keras
from keras import layers
from sklearn.model_selection import train_test_split
from sklearn.metrics import r2_score, mean_absolute_percentage_error

# salaries are very skewed, so fit log1p(salary) and go back with expm1
keras.utils.set_random_seed(3)
rng = np.random.default_rng(3)
n = 3000
years = rng.integers(0, 40, n)
edu = rng.integers(0, 4, n)
field = rng.integers(0, 8, n)
field_effect = rng.normal(0, 0.4, 8)
log_sal = 10 + 0.03 * years - 0.0004 * years ** 2 + 0.18 * edu + field_effect[field] \
    + rng.normal(0, 0.12, n)
salary = np.exp(log_sal)

num = np.stack([years, edu], 1).astype("float32")
num_tr, num_te, f_tr, f_te, s_tr, s_te = train_test_split(
    num, field.astype("int32"), salary, test_size=0.2, random_state=3)

norm = layers.Normalization()
norm.adapt(num_tr)

num_in = keras.Input((2,), name="num")
field_in = keras.Input((1,), dtype="int32", name="field")
emb = layers.Flatten()(layers.Embedding(8, 4)(field_in))
h = layers.Concatenate()([norm(num_in), emb])
h = layers.Dense(64, activation="relu")(h)
h = layers.Dense(32, activation="relu")(h)
out = layers.Dense(1, bias_initializer=keras.initializers.Constant(float(np.log1p(s_tr).mean())))(h)
model = keras.Model([num_in, field_in], out)

model.compile(optimizer=keras.optimizers.Adam(3e-3), loss="mse")
stop = keras.callbacks.EarlyStopping(patience=6, restore_best_weights=True)
model.fit([num_tr, f_tr[:, None]], np.log1p(s_tr), epochs=40, batch_size=64,
          validation_split=0.1, callbacks=[stop], verbose=2)

pred = np.expm1(model.predict([num_te, f_te[:, None]], verbose=0).ravel())
print("MAPE %.3f" % mean_absolute_percentage_error(s_te, pred))
print("R2   %.3f" % r2_score(s_te, pred))
