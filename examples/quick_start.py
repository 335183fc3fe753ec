"""
Quick start
===========

Fit a model, get predictive intervals, and check them, in half a minute. The data come with
scikit-learn: the progression of diabetes in 442 patients, predicted from ten measurements. A stable
network with its default settings is compared with scikit-learn's Gaussian process.
"""

# sphinx_gallery_thumbnail_path = "../examples/three_jumps.png"
from sklearn.datasets import load_diabetes
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skbayesnn import StableNNRegressor
from skbayesnn.metrics import crps_scorer, interval_coverage_scorer
from skbayesnn.predictive import PredictiveMixture

X, y = load_diabetes(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0)

# %%
# Nothing needs to be scaled: the estimator standardises inputs and target internally.

model = StableNNRegressor(random_state=0, n_jobs=2)
model.fit(X_train, y_train)

median = model.predict(X_test)
lower, upper = model.predict(X_test, quantiles=[0.05, 0.95]).T
print("Progression of five patients: median, 90 % interval, what was observed")
for i in range(5):
    print(f"  {median[i]:5.0f}   [{lower[i]:5.0f}, {upper[i]:5.0f}]   {y_test[i]:5.0f}")

# %%
# A Gaussian process predicts one Gaussian for each row, which is a mixture with one component. The
# same scores can therefore judge both models.

gaussian_process = make_pipeline(
    StandardScaler(),
    GaussianProcessRegressor(
        ConstantKernel() * RBF() + WhiteKernel(), normalize_y=True, random_state=0
    ),
).fit(X_train, y_train)
mean, std = gaussian_process.predict(X_test, return_std=True)
gaussian = PredictiveMixture([1.0], mean[:, None], std[:, None] ** 2)

print(f"\nOn {len(y_test)} patients that were held out")
print(f"  coverage of the 90 % intervals   {interval_coverage_scorer(model, X_test, y_test):.2f}")
print(f"  CRPS, stable network             {-crps_scorer(model, X_test, y_test):.1f}")
print(f"  CRPS, Gaussian process           {gaussian.crps(y_test).mean():.1f}")
