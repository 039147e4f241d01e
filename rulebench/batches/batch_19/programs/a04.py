import argparse

import numpy as np
import pandas as pd
from catboost import CatBoostRegressor, Pool
from sklearn.metrics import mean_absolute_error, r2_score


def build_frame(n, rng):
    area = rng.uniform(25, 180, n)
    rooms = np.clip(np.round(area / 28 + rng.normal(0, 0.7, n)), 1, 7)
    age = rng.uniform(0, 80, n)
    distance = rng.gamma(2.5, 3.0, n)
    floor = rng.integers(0, 12, n)
    price = (
        40
        + 2.1 * area
        + 9 * rooms
        - 0.9 * age
        - 60 * np.log1p(distance)
        + 2.0 * floor
        + rng.normal(0, 12, n)
    )
    return pd.DataFrame(
        {"area": area, "rooms": rooms, "floor": floor, "age": age, "distance": distance, "price": price}
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--iterations", type=int, default=400)
    parser.add_argument("--lr", type=float, default=0.06)
    parser.add_argument("--depth", type=int, default=5)
    parser.add_argument("--seed", type=int, default=12)
    args = parser.parse_args()

    rng = np.random.default_rng(args.seed)
    df = build_frame(6000, rng)
    features = sorted(c for c in df.columns if c != "price")
    train, valid, test = df[:4000], df[4000:5000], df[5000:]

    # price goes up with area, rooms and floor, down with age and distance
    monotone = [1, 1, 1, -1, -1]

    train_pool = Pool(train[features], train["price"])
    valid_pool = Pool(valid[features], valid["price"])
    model = CatBoostRegressor(
        iterations=args.iterations,
        learning_rate=args.lr,
        depth=args.depth,
        loss_function="RMSE",
        monotone_constraints=monotone,
        random_seed=args.seed,
        thread_count=1,
        verbose=50,
    )
    model.fit(train_pool, eval_set=valid_pool)

    pred = model.predict(test[features])
    print("features:", features)
    print(f"test MAE {mean_absolute_error(test['price'], pred):.3f}")
    print(f"test R2  {r2_score(test['price'], pred):.4f}")
    for name, imp in zip(features, model.get_feature_importance()):
        print(f"  {name:10s} {imp:.2f}")


if __name__ == "__main__":
    main()
