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
# pandas reads as many rows at a time as it is told to. Each pass makes the network better; when the
# score of rows that are set aside no longer improves, stop.

network = UDNRegressor(width=64, random_state=0)
history = []
for _ in range(5):
    learn(network, pd.read_csv(path, chunksize=500))
    history.append(scores(network))

figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
ax.plot(range(1, 6), [crps for crps, _ in history], "o-")
ax.set(xlabel="passes over the file", ylabel="CRPS of 2000 rows", xticks=range(1, 6))
plt.show()
print(f"90 % intervals cover {history[-1][1]:.3f} after {network.n_samples_seen_:.0f} rows")

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
for _ in range(5):
    learn(network, (partition.compute() for partition in frame.partitions))
crps, coverage = scores(network)
print(f"CRPS {crps:.2f}, 90 % intervals cover {coverage:.3f}")
folder.cleanup()
