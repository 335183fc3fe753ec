"""Milliseconds a gradient step: this package beside PyTorch, on one core, in one run.

Width 32, batch 256, two inputs, two classes, a head after every layer, as in the spiral
experiment (Nazaret and Blei, 2022). "authors' way" is one step as research code takes it:
a module a layer, a head a layer, the loss of each head, the divergence from the prior
module by module, the truncated Poisson and its quantile at every step, Adam over all
tensors with a group for the depth. "plain" is a PyTorch network with one head and no prior.
PyTorch is optional.

    python benchmarks/udn_speed.py
"""

import argparse
import time

import numpy as np
from threadpoolctl import threadpool_limits

from skbayesnn.udn.architecture import Architecture
from skbayesnn.udn.likelihoods import Likelihood
from skbayesnn.udn.network import Network
from skbayesnn.udn.objective import run_steps

WIDTH, BATCH = 32, 256


def best_of(function, repeats):
    """Least seconds a call."""
    function()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return min(times)


def ours(depth, repeats, steps=20):
    """Milliseconds a step of this package."""
    rng = np.random.default_rng(0)
    network = Network(Architecture("dense", (2,), WIDTH, Likelihood("softmax", 2)), rng)
    network.grow(depth)
    X = rng.normal(size=(BATCH * steps, 2)).astype(np.float32)
    y = (X[:, :1] > 0).astype(np.float32)
    q, weights = np.full(depth, 1 / depth), np.ones(len(X), dtype=np.float32)

    def run():
        run_steps(network, depth, q, np.ones(depth), X, y, weights, BATCH, 1e-3, 1024.0)

    with threadpool_limits(limits=1, user_api="blas"):
        return 1e3 * best_of(run, repeats) / steps


def theirs(torch, depth, repeats, plain=False, steps=5):
    """Milliseconds a step of PyTorch."""
    nn = torch.nn
    torch.manual_seed(0)
    layers = nn.ModuleList(
        nn.Sequential(nn.Linear(2 if k == 0 else WIDTH, WIDTH), nn.ReLU()) for k in range(depth)
    )
    heads = nn.ModuleList(nn.Linear(WIDTH, 2) for _ in range(depth))
    rate = nn.Parameter(torch.tensor(float(depth)))
    groups = [
        {"params": [*layers.parameters(), *heads.parameters()], "lr": 1e-3},
        {"params": [rate], "lr": 1e-4},
    ]
    optimiser = torch.optim.Adam(groups)
    normal = torch.distributions.Normal(0.0, 1.0)
    X = torch.randn(BATCH, 2)
    y = (X[:, 0] > 0).long()
    prior = torch.distributions.Poisson(0.5).log_prob(torch.arange(depth).float())

    def step():
        optimiser.zero_grad()
        hidden, outputs, divergences = X, [], []
        for k in range(depth):
            hidden = layers[k](hidden)
            if not plain:
                outputs.append(heads[k](hidden))
                divergences.append(
                    sum(
                        -normal.log_prob(p).sum()
                        for p in [*layers[k].parameters(), *heads[k].parameters()]
                    )
                )
        if plain:
            nn.functional.cross_entropy(heads[-1](hidden), y).backward()
        else:
            steps = torch.arange(depth).float()
            log_q = torch.distributions.Poisson(rate).log_prob(steps)
            log_q = log_q - torch.logsumexp(log_q, 0)
            q = log_q.exp()
            fits = torch.stack(
                [torch.distributions.Categorical(logits=o).log_prob(y).mean() for o in outputs]
            )
            shrink = torch.cumsum(torch.stack(divergences), 0) / 1024
            (-(q * (fits - shrink + (prior - log_q) / 1024)).sum()).backward()
        optimiser.step()

    return 1e3 * best_of(lambda: [step() for _ in range(steps)], repeats) / steps


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--depths", nargs="+", type=int, default=[2, 4, 8, 10, 20, 30])
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    try:
        import torch

        torch.set_num_threads(1)
    except ImportError:
        torch = None
        print("PyTorch is not installed: the comparison is left out (pip install torch).")
    print("depth   here ms   PyTorch, authors' way   ratio   PyTorch, plain   ratio")
    for depth in options.depths:
        line = f"{depth:5d}  {(mine := ours(depth, options.repeats)):8.3f}"
        if torch:
            full = theirs(torch, depth, options.repeats)
            plain = theirs(torch, depth, options.repeats, plain=True)
            line += f"   {full:21.2f}  {full / mine:6.1f}   {plain:14.2f}  {plain / mine:6.1f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
