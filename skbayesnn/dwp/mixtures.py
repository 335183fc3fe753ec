"""Predictions of a trained model: mixtures of Gaussians, class probabilities and joint draws."""

import numpy as np
from scipy.special import softmax

from skbayesnn.dwp.noise import MOST_GROUPS, fewer
from skbayesnn.dwp.prediction import BLOCK
from skbayesnn.dwp.width import GIVEN
from skbayesnn.gaussian_process.stand_ins import with_noise
from skbayesnn.numerics.workers import ALONE
from skbayesnn.predictive import PredictiveMixture, linear_pool
from skbayesnn.training.label_noise import with_label_noise
from skbayesnn.training.pooled import pooled, with_processes
from skbayesnn.training.unseen import draws_where_unseen, where_unseen


class Predictions:
    """Predictions of a :class:`skbayesnn.dwp.model.Model`, which defines the attributes."""

    def mixtures(self, X, workers=ALONE):
        """Predictive mixtures, one per target, at the rows of X in the original units."""
        X = self.scales.inputs(X)
        moments = self.output.predict(X, workers)
        at = moments[0][:, 0].mean(axis=0)
        mixtures = self.own_mixtures(X, *moments)
        away = self._elsewhere(X)
        if self.beside is not None:
            mixtures = [pooled(mixtures, [self.beside], [X])]
            away = with_processes(*away, [self.beside], [X])
        mixtures = [where_unseen(m, *away, t) for t, m in enumerate(mixtures)]
        if self.settings is not None:
            mixtures = self._with_settings(X, mixtures, at)
        if self.known is not None:
            mixtures = self.known.pool(X, mixtures, self.scales.y_offset, self.scales.y_scale)
        return mixtures

    def own_mixtures(self, X, means, variances):
        """Predictive mixtures of the deep Wishart process alone, in the units of y.

        X is standardised; means and variances are those of the function in each draw.
        """
        if self.law is None:
            noises = np.tile(np.exp(self.parameters["log_noise"]), (len(means), 1))
            return self._with_width(self.width, means, variances, noises)
        at = means[:, 0].mean(axis=0)
        return [self._with_noise(X, at, means[:, 0], variances[:, 0])]

    def _with_settings(self, X, mixtures, at):
        """Pool the mixtures with the predictions of all hyperparameter draws; X is standardised."""
        moments, noises = self.settings.functions(X), np.exp(self.settings.log_noise)
        if self.law is None:
            # Keep all draws: hyperparameter draws differ more than draws of the hidden layers.
            n_groups = MOST_GROUPS if self.settings.width else len(noises)
            others = self._with_width(self.settings.width, *moments, noises, n_groups)
        else:
            own = (part[:, 0] for part in moments)
            others = [self._with_noise(X, at, *own, noises[:, 0])]
        shares = [1.0 - self.chance, self.chance]
        return [linear_pool(both, shares) for both in zip(mixtures, others, strict=True)]

    def _with_width(self, width, means, variances, noises, n_groups=MOST_GROUPS):
        """Mixtures with Gaussian noise, one per target, in the units of y.

        Parameters
        ----------
        width : Width or None
        means, variances : ndarray of shape (n_draws, n_targets, n)
        noises : ndarray of shape (n_draws, n_targets)
        n_groups : int
            Number of groups into which the draws are merged.
        """
        width, parts = width or GIVEN, []
        for t in range(means.shape[1]):
            gaussians = width.law(means[:, t], variances[:, t], noises[:, t], n_groups)
            parts.append(self._in_units(gaussians, t))
        return parts

    def _with_noise(self, X, at, means, variances, units=None):
        """Mixture of the draws of the function with the learned noise model, in the units of y."""
        if units is None:
            means, variances = fewer(means, variances, MOST_GROUPS)
            units = np.exp(self.parameters["log_noise"])
        factors = np.broadcast_to(units / self.unit, len(means))
        return self._in_units(with_noise(self.law, X, at, means, variances, factors))

    def _in_units(self, gaussians, target=0):
        known = PredictiveMixture(*gaussians)
        offset, scale = self.scales.y_offset[target], self.scales.y_scale[target]
        return known.scaled(float(offset), float(scale))

    def _elsewhere(self, X):
        """Probability that no row is near, and the prediction there in the units of y.

        X is standardised.
        """
        if self.elsewhere is None:
            return np.zeros(len(X)), None
        length_scales = self.parameters["log_length_scales"]
        chance, gaussians = self.elsewhere(X, self.output, length_scales)
        if gaussians is not None:
            shares, means, variances = gaussians
            offset, scale = self.scales.y_offset[:, None], self.scales.y_scale[:, None]
            gaussians = shares, offset + scale * means, scale**2 * variances
        return chance, gaussians

    def probabilities(self, X, workers=ALONE):
        """Class probabilities at the rows of X in the original units."""
        p = self.class_probabilities(self.output, self.scales.inputs(X), workers)
        if self.temperature != 1.0:
            with np.errstate(divide="ignore"):  # a class may have probability zero
                p = softmax(np.log(p) / self.temperature, axis=1)
        return with_label_noise(p, self.label_noise)

    def class_probabilities(self, output, X, workers=ALONE):
        """Class probabilities of ``output`` at standardised rows, before calibration."""
        parts = [
            self.sizes.law.probabilities(
                *output.predict(X[i : i + BLOCK], workers),
                self.scales.n_classes,
                self.noise.nodes,
            )
            for i in range(0, len(X), BLOCK)
        ]
        return np.concatenate(parts)

    def sample(self, X, generator, n_samples):
        """Joint draws of the function of the first target plus noise, in the units of y."""
        X = self.scales.inputs(X)
        draws = self.output.sample(X, generator, n_samples)
        moments = self.output.predict(X)
        at = moments[0][:, 0].mean(axis=0)
        units = np.full(n_samples, np.exp(self.parameters["log_noise"][0]))
        draws = self._with_drawn_noise(X, at, draws, at, units, self.width, generator)
        location, scale = self.scales.y_offset[0], self.scales.y_scale[0]
        draws, away = draws * scale + location, self._elsewhere(X)
        if self.beside is not None:
            own = self.own_mixtures(X, *moments)[0].mean()
            self.beside.replace_draws(draws, X, lambda _: own[:, None], generator)
            away = with_processes(*away, [self.beside], [X])
        draws_where_unseen(draws, *away, generator)
        if self.settings is not None:
            others = np.flatnonzero(generator.random(n_samples) < self.chance)
            drawn, units = self.settings.sample(X, generator, len(others))
            own = self.settings.functions(X)[0][:, 0].mean(axis=0)
            width = self.settings.width
            drawn = self._with_drawn_noise(X, at, drawn, own, units, width, generator)
            draws[:, others] = drawn * scale + location
        if self.known is not None:
            self.known.replace(X, draws, location, scale, generator)
        return draws

    def _with_drawn_noise(self, X, at, draws, means, units, width, generator):
        """Draws of the function with these means, plus noise of variance ``units``; standardised.

        ``units`` has one value per column. The scale of non-Gaussian noise may depend on ``at``.
        """
        if self.law is None:
            return (width or GIVEN).draws(draws, means, units, generator)
        noise = self.law.sample(X, at, draws.shape[1], generator)
        return draws + np.sqrt(units / self.unit) * noise
