"""
Rows that do not fit in memory
==============================

Read a file in chunks, or use a Dask dataframe: both pass their rows to ``partial_fit`` piece by
piece, so that only one piece is in memory at a time. The file of this example is small, to make it
fast, but the code works for files of any size.
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
test = table.sample(2000, random_state=0)  # in practice, use rows that are not in the file
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
# Let pandas read the file in chunks. After each pass, score rows that are set aside, and stop when
# the score no longer improves. Here the first pass makes nearly all of the difference.

network = UDNRegressor(width=64, random_state=0)
print("pass   CRPS   coverage of 90 % intervals")
for number in range(3):
    learn(network, pd.read_csv(path, chunksize=500))
    crps, coverage = scores(network)
    print(f"{number + 1:4d}   {crps:.2f}   {coverage:.3f}")

# %%
# The figure shows the predicted delay of a flight of 800 kilometres, from an airport that is nearly
# empty and from one that is full. In the evening delays are uncertain in both cases, and they are
# long if the airport is full.

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
# Compute the partitions one after the other, and pass them on in the same way. If the rows are
# sorted, by date for example, shuffle them once beforehand (Dask has ``frame.shuffle``):
# ``partial_fit`` assumes that each piece is a random sample of the whole.

frame = dd.read_csv(path, blocksize=200_000)
print(f"{frame.npartitions} partitions")
network = UDNRegressor(width=64, random_state=0)
for _ in range(3):
    learn(network, (partition.compute() for partition in frame.partitions))
crps, coverage = scores(network)
print(f"CRPS {crps:.2f}, 90 % intervals cover {coverage:.3f}")
folder.cleanup()
