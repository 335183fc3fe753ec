"""How a network is given its inputs: those that matter, or waves of a single one.

Held-out rows decide between two trainings, and later networks of a pool follow the earlier ones.
Not in the paper.
"""

from dataclasses import replace

import numpy as np

from skbayesnn.udn.inputs import waves
from skbayesnn.udn.relevance import relevances

SCOUT_START, SCOUT_EPOCHS = 0.1, 0.2
"""With many inputs a scout says which of them matter: a network whose weights of layer 1 start this
much smaller, so that they show what was learned and not where they started, trained for this part
of the epochs."""


class InputChoices:
    """Starts of a network that differ in its inputs, and the choice between two of them."""

    def _start_from(self, before, n_rows):
        """Start anew with the inputs that proved good in the networks before."""
        effects = [each._X_effects for each in before if each._X_effects is not None]
        relevance = relevances(effects, n_rows) if effects else self._X_relevance
        if effects or before[0]._X_waves:
            self._start_with(relevance, before[0]._X_waves)

    def _start_with(self, relevance, with_waves=False):
        """Start anew with inputs multiplied by these, or with waves of the one input."""
        self._X_relevance, self._X_waves = relevance, with_waves
        architecture = self._network.architecture
        if with_waves:
            architecture = replace(architecture, input_shape=waves(np.zeros((1, 1))).shape[1:])
        self._new_network(architecture, self._network.generator)

    def _weigh_inputs(self, learn, settings):
        """Train with all inputs alike and with those that matter, and keep what predicts better."""
        network = self._network
        self._start_of_lift(SCOUT_START)
        n_inputs, n_weights = len(self._X_relevance), network.layers[0].n_weights
        epochs, patience = (
            max(1, round(SCOUT_EPOCHS * n)) for n in (settings.n_epochs, settings.patience)
        )
        tried = learn(replace(settings, n_epochs=epochs, patience=patience))
        if tried[1].stopped_by_callback:
            return tried
        weights = network.layer(0)[:n_weights].reshape(n_inputs, -1).astype(float)
        squares = np.sum(weights**2, axis=1)
        return self._better(learn, (np.ones(n_inputs),), (squares / squares.max(),))

    def _try_waves(self, learn, settings):
        """Train with the one input alone and with waves of it, and keep what predicts better."""
        return self._better(learn, (self._X_relevance,), (self._X_relevance, True))

    def _better(self, learn, plain, other):
        """Train from two starts, and keep the second if it is better by a standard error."""
        fits = []
        for start in (plain, other):
            self._start_with(*start)
            tried = learn()
            if tried[1].stopped_by_callback:
                return tried
            state = self._network, self._depth, self._X_relevance, self._X_waves
            fits.append((tried, state, tried[0].score_held_out()))
        leads, counts = fits[1][-1] - fits[0][-1], tried[0].held_out_weights
        lead = np.average(leads, weights=counts)
        spread = np.sqrt(np.average((leads - lead) ** 2, weights=counts))
        tried, state, _ = fits[int(lead > spread / np.sqrt(max(1, len(leads) - 1)))]
        self._network, self._depth, self._X_relevance, self._X_waves = state
        return tried

    def _start_of_lift(self, factor):
        """Change the size of the first weights of layer 1."""
        self._network.grow(1)
        self._network.layer(0)[: self._network.layers[0].n_weights] *= factor
