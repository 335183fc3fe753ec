"""
Rows that do not fit in memory
==============================

A file of chunks, and a Dask dataframe: both hand their rows to ``partial_fit`` piece by piece, and
no more than one piece is in memory at a time. Here the file is small, so that the example is fast;
nothing in it depends on that.
"""

import tempfile
from pathlib import Path

import dask.dataframe as dd
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skbayesnn import UDNRegressor
from skbayesnn.metrics import interval_coverage, mean_crps
from skbayesnn.plotting import PredictionIntervalDisplay

folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "flights.csv"
generator = np.random.default_rng(0)
n = 60_000
table = pd.DataFrame(
    {
        "distance": generator.gamma(2, 400, n),
        "hour": generator.uniform(5, 24, n),
        "load": generator.uniform(0, 1, n),
    }
)
rush = np.exp(-(((table["hour"] - 18) / 2) ** 2))
table["delay"] = 4 + 25 * rush * table["load"] + 0.004 * table["distance"]
table["delay"] += (3 + 12 * rush) * (generator.exponential(1, n) - 1)
table.to_csv(path, index=False)
test = table.sample(2000, random_state=0)  # in earnest, rows that are not in the file
inputs = ["distance", "hour", "load"]


def learn(model, pieces):
    """One pass over an iterable of dataframes."""
    for piece in pieces:
        model.partial_fit(piece[inputs], piece["delay"])
    return model


def scores(model):
    prediction = model.predict_distribution(test[inputs])
    coverage = interval_coverage(test["delay"], prediction.interval(0.9))
    return mean_crps(test["delay"], prediction), coverage


# %%
# A file in chunks
# ----------------
#
# pandas reads as many rows at a time as it is told to. Score rows that are set aside after each
# pass, and stop when they no longer gain: here the first pass does nearly all.

network = UDNRegressor(width=64, random_state=0)
print("pass   CRPS   coverage of 90 % intervals")
for number in range(3):
    learn(network, pd.read_csv(path, chunksize=500))
    crps, coverage = scores(network)
    print(f"{number + 1:4d}   {crps:.2f}   {coverage:.3f}")

# %%
# What the network learned about a flight of 800 kilometres, when the airport is nearly empty and
# when it is full: in the evening delays are uncertain either way, and in a full airport they are
# long.

hours = np.linspace(5, 24, 200)
figure, axes = plt.subplots(1, 2, figsize=(11, 3.8), sharey=True, layout="constrained")
for load, ax in zip((0.1, 0.9), axes, strict=True):
    rows = pd.DataFrame({"distance": 800.0, "hour": hours, "load": load})
    prediction = network.predict_distribution(rows[inputs])
    PredictionIntervalDisplay.from_predictions(prediction, x=hours, ax=ax)
    near = test[np.abs(test["load"] - load) < 0.1]
    ax.plot(near["hour"], near["delay"], "k.", ms=2, label="flights")
    ax.set(title=f"load {load}", xlabel="hour", ylabel="delay, minutes", ylim=(-15, 110))
    ax.legend(frameon=False, loc="upper left")
    ax.label_outer()
plt.show()

# %%
# A Dask dataframe
# ----------------
#
# Its partitions are computed one after the other, each where it lies, and handed over in the same
# way. Rows that a file keeps in some order, by date say, should be shuffled once beforehand
# (``frame.shuffle`` of Dask): ``partial_fit`` takes each piece for a sample of the whole.

frame = dd.read_csv(path, blocksize=200_000)
print(f"{frame.npartitions} partitions")
network = UDNRegressor(width=64, random_state=0)
for _ in range(3):
    learn(network, (partition.compute() for partition in frame.partitions))
crps, coverage = scores(network)
print(f"CRPS {crps:.2f}, 90 % intervals cover {coverage:.3f}")
folder.cleanup()
