"""
Dates, categories and missing values
====================================

How many bicycles will be rented tomorrow? This example goes from a CSV file to intervals, with
scikit-learn's pipelines for everything that is not a number. The file is simulated, but it has what
real files have: a date, a category, and missing values.
"""

import io
import tempfile
from pathlib import Path

import joblib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from skbayesnn import UDNRegressor
from skbayesnn.metrics import crps_scorer, interval_coverage_scorer


def simulated_file():
    """The text of a CSV file: three years of a station."""
    generator = np.random.default_rng(0)
    date = pd.date_range("2023-01-01", "2025-12-31")
    season = np.cos(2 * np.pi * (date.dayofyear - 200) / 365)
    weather = generator.choice(["clear", "cloud", "rain"], len(date), p=[0.5, 0.3, 0.2])
    temperature = 12 + 10 * season + 4 * generator.normal(size=len(date))
    factor = pd.Series(weather).map({"clear": 1.0, "cloud": 0.85, "rain": 0.45}).to_numpy()
    mean = (150 + 9 * temperature) * factor * np.where(date.dayofweek < 5, 1.0, 0.7)
    rented = generator.negative_binomial(25, 25 / (25 + np.maximum(mean, 10)))
    table = pd.DataFrame(
        {"date": date, "weather": weather, "temperature": temperature.round(1), "rented": rented}
    )
    table.loc[generator.random(len(date)) < 0.08, "temperature"] = np.nan
    table.loc[generator.random(len(date)) < 0.04, "weather"] = np.nan
    return table.to_csv(index=False)


table = pd.read_csv(io.StringIO(simulated_file()), parse_dates=["date"])
print(table.head(4))
print(table.isna().sum().to_string())

# %%
# Turn the columns into numbers
# -----------------------------
#
# The date becomes the time since the start, the sine and cosine of the season, and the day of the
# week. The category becomes one column for each of its values, including "missing". A missing
# temperature is replaced by the median, and an additional column marks it. With pandas output, the
# columns keep their names. The model itself standardises its inputs.


def from_date(frame):
    """Time in years, sine and cosine of the season, and the day of the week."""
    date = frame["date"]
    angle = 2 * np.pi * date.dt.day_of_year / 365.25
    return pd.DataFrame(
        {
            "years": (date - pd.Timestamp("2023-01-01")).dt.days / 365.25,
            "sine": np.sin(angle),
            "cosine": np.cos(angle),
            "weekday": date.dt.day_of_week,
        }
    )


numbers = make_column_transformer(
    (FunctionTransformer(from_date), ["date"]),
    (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["weather"]),
    (SimpleImputer(strategy="median", add_indicator=True), ["temperature"]),
    verbose_feature_names_out=False,
).set_output(transform="pandas")
model = make_pipeline(numbers, UDNRegressor(random_state=0))

# %%
# Fit and predict
# ---------------
#
# The last ninety days are held out. The keywords of ``predict`` pass through the pipeline.

X, y = table.drop(columns="rented"), table["rented"]
X_train, X_test, y_train, y_test = X[:-90], X[-90:], y[:-90], y[-90:]
model.fit(X_train, y_train)
print("columns of the model:", ", ".join(model[-1].feature_names_in_))
low, median, high = model.predict(X_test, quantiles=[0.05, 0.5, 0.95]).T

figure, ax = plt.subplots(figsize=(9, 3.6), layout="constrained")
ax.fill_between(X_test["date"], low, high, alpha=0.25, lw=0, label="90 % interval")
ax.plot(X_test["date"], median, label="median")
ax.plot(X_test["date"], y_test, "k.", ms=4, label="rented")
ax.set(ylabel="bicycles a day", ylim=(0, None))
ax.legend(frameon=False, ncols=3)
plt.show()
print(f"coverage {interval_coverage_scorer(model, X_test, y_test):.2f}")
print(f"CRPS {-crps_scorer(model, X_test, y_test):.1f} bicycles")

# %%
# Tune, save and load
# -------------------
#
# Searches accept proper scores as they are. Folds in the order of time keep a model from being
# tested on days before those that it was fitted to. ``n_jobs=2`` uses two cores. joblib writes the
# fitted pipeline to a file and reads it again. The file contains only the name of ``from_date``: to
# load it in another process, define the function in a module and import it from there.

search = GridSearchCV(
    model,
    {"udnregressor__weight_scale": [0.1, 0.3, 1.0]},
    scoring=crps_scorer,
    cv=TimeSeriesSplit(3),
    n_jobs=2,
).fit(X_train, y_train)
for parameters, score in zip(
    search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
):
    print(f"{parameters}: CRPS {-score:.2f}")

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "rentals.joblib"
    joblib.dump(search.best_estimator_, path)
    loaded = joblib.load(path)
print("the same predictions:", np.array_equal(loaded.predict(X_test), search.predict(X_test)))
