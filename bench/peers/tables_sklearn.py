#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scikit-learn on the tables of examples/adult and examples/housing, beside those programs.

usage: tables_sklearn.py DATA_DIR BIN_DIR     (BIN_DIR has the programs adult and housing; needs python3-sklearn)

Every model sees the same columns: one-hot text, standardized numbers (amounts of money by log(1 + x)). Prints a row for each
model: quality on people or districts that it has not seen (of five seeds the median, and the worst), and the seconds of one
training. Housing is divided as the program divides it in size, not row by row.
"""
import csv
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import numpy
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, mean_squared_error, roc_auc_score
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

SEEDS = range(5)
ADULT = ("age workclass fnlwgt education education_num marital_status occupation relationship race sex capital_gain "
         "capital_loss hours_per_week native_country income").split()
NUMBERS = ["age", "education_num", "capital_gain", "capital_loss", "hours_per_week"]
TEXTS = [name for name in ADULT if name not in NUMBERS and name not in ("fnlwgt", "income")]


def people(path, remarks):
    """Columns of numbers, then columns of text; who earns more than 50,000 dollars."""
    numbers, texts, rich = [], [], []
    with open(path, encoding="utf-8") as file:
        for row in list(csv.reader(file, skipinitialspace=True))[remarks:]:
            if not row:
                continue
            person = dict(zip(ADULT, row))
            numbers.append([math.log1p(float(person[n])) if n.startswith("capital") else float(person[n]) for n in NUMBERS])
            texts.append([person[name] for name in TEXTS])
            rich.append(person["income"].startswith(">50K"))
    table = numpy.concatenate([numpy.array(numbers, dtype=object), numpy.array(texts, dtype=object)], axis=1)
    return table, numpy.array(rich)


def encoder(numbers, texts):
    return ColumnTransformer([("numbers", StandardScaler(), list(range(numbers))),
                              ("texts", OneHotEncoder(handle_unknown="ignore"), list(range(numbers, numbers + texts)))])


def row(name, measured, digits=4, best=max):
    """`measured`: for each seed its values, and the seconds of its training last."""
    columns = list(zip(*measured))
    worst = min if best is max else max
    texts = [f"{statistics.median(values):.{digits}f} ({worst(values):.{digits}f})" for values in columns[:-1]]
    seconds = statistics.median(columns[-1])
    print(f"{name:36s} " + "  ".join(f"{text:18s}" for text in texts) + f" {seconds:6.1f}", flush=True)


def ours(program, data, keys, *arguments):
    measured = []
    for seed in SEEDS:
        with tempfile.TemporaryDirectory() as folder:
            command = [program, "--json", "--quiet", "--seed", str(seed), "--data-dir", data, "--model-dir", folder + "/m"]
            start = time.perf_counter()
            done = subprocess.run([*command, *arguments], stdout=subprocess.PIPE, check=True, text=True)
            seconds = time.perf_counter() - start
            report = json.loads(done.stdout.splitlines()[-1])
            measured.append([*(report[key] for key in keys), seconds])
    return measured


def theirs(make, seeds, training, test, score):
    measured = []
    for seed in seeds:
        model = make(seed)
        start = time.perf_counter()
        model.fit(*training)
        seconds = time.perf_counter() - start
        measured.append([*score(model, *test), seconds])
    return measured


def adult(data, programs):
    training = people(data / "adult" / "adult.data", 0)
    test = people(data / "adult" / "adult.test", 1)

    def score(model, table, rich):
        probability = model.predict_proba(table)[:, 1]
        return accuracy_score(rich, probability > 0.5), roc_auc_score(rich, probability)

    columns = (len(NUMBERS), len(TEXTS))
    print(f"{'adult':36s} {'accuracy (worst)':18s}  {'AUC (worst)':18s} seconds")
    row("shoal adult (wide and deep)", ours(programs / "adult", str(data), ["accuracy", "auc"]))
    row("LogisticRegression", theirs(lambda _: make_pipeline(encoder(*columns), LogisticRegression(max_iter=1000)), [0],
                                     training, test, score))
    row("MLPClassifier (64, 32)", theirs(
        lambda seed: make_pipeline(encoder(*columns), MLPClassifier((64, 32), max_iter=10, batch_size=64, random_state=seed)),
        SEEDS, training, test, score))


def districts(path):
    with open(path, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    names = [name for name in rows[0] if name not in ("median_house_value", "ocean_proximity")]
    amounts = {"total_rooms", "total_bedrooms", "population", "households"}
    value = [[math.nan if r[n] == "" else math.log1p(float(r[n])) if n in amounts else float(r[n]) for n in names] for r in rows]
    numbers = numpy.array(value)
    numbers = numpy.where(numpy.isnan(numbers), numpy.nanmean(numbers, axis=0), numbers)
    texts = numpy.array([[r["ocean_proximity"]] for r in rows], dtype=object)
    prices = numpy.array([float(r["median_house_value"]) / 100000 for r in rows])
    order = numpy.random.default_rng(1990).permutation(len(rows))
    table = numpy.concatenate([numbers.astype(object), texts], axis=1)[order]
    return table, prices[order], len(names)


def housing(data, programs):
    table, prices, numbers = districts(data / "housing" / "housing.csv")
    held_out = len(prices) // 10
    training, test = (table[held_out:], prices[held_out:]), (table[:held_out], prices[:held_out])

    def score(model, rows, expected):
        return (math.sqrt(mean_squared_error(expected, model.predict(rows))),)

    print(f"\n{'housing':36s} {'RMSE (worst)':18s} seconds")
    row("shoal housing (DNN)", ours(programs / "housing", str(data), ["rmse"]), best=min)
    row("shoal housing --baseline", ours(programs / "housing", str(data), ["rmse"], "--baseline"), best=min)
    row("DummyRegressor", theirs(lambda _: DummyRegressor(), [0], training, test, score), best=min)
    row("LinearRegression", theirs(lambda _: make_pipeline(encoder(numbers, 1), LinearRegression()), [0], training, test, score),
        best=min)
    row("MLPRegressor (64, 64)", theirs(
        lambda seed: make_pipeline(encoder(numbers, 1), MLPRegressor((64, 64), max_iter=20, batch_size=64, random_state=seed)),
        SEEDS, training, test, score), best=min)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    warnings.filterwarnings("ignore", message="Stochastic Optimizer")
    data, programs = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    adult(data, programs)
    housing(data, programs)


if __name__ == "__main__":
    main()
