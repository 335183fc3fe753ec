"""Milliseconds a step: this package beside PyTorch, on one core, in one run.

One step is what section 4 of the paper does for a batch: the prior (two hidden layers of 50,
with random weights) at the batch and at the inducing inputs together, draws of the posterior,
one update of the classifier, the conditional, the likelihood, the divergence, one update of
everything else. The PyTorch step is the paper's, as its users write it: moments from draws of
whole networks, batched products, autograd, Adam, no Python loop over draws; ours integrates the
last layer, and has the noise of default fits, which is Student's. PyTorch is optional.

    python benchmarks/sip_speed.py
"""

import argparse
import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import time
from itertools import pairwise

import numpy as np

from skbayesnn.numerics.random import spawn_generators
from skbayesnn.sip.inference import Settings, SIPInference
from skbayesnn.sip.model import SparseImplicitProcess

WIDTH, N_NOISE, N_TOTAL = 50, 100, 1000


def ours(batch, n_inducing, n_draws, n_inputs):
    """A function that takes one step."""
    data, generator = spawn_generators(0, 2)
    X, y = data.normal(size=(N_TOTAL, n_inputs)), data.normal(size=N_TOTAL)
    model = SparseImplicitProcess(
        "bnn", X[:n_inducing], X, WIDTH, 0.3, 1.0, 1e-5, n_draws, generator, likelihood="student_t"
    )
    inference = SIPInference(model, Settings(), generator)
    inference.attach(X, y)
    return lambda: inference.epoch(data.permutation(N_TOTAL)[:batch], batch, 1e-3)


def theirs(torch, batch, n_inducing, n_draws, n_inputs):
    """The same in PyTorch."""
    nn, act = torch.nn, torch.nn.functional.leaky_relu
    torch.manual_seed(0)
    X, y = torch.randn(batch, n_inputs), torch.randn(batch, dtype=torch.float64)
    shapes = [(n_inputs, WIDTH), (1, WIDTH), (WIDTH, WIDTH), (1, WIDTH), (WIDTH, 1), (1, 1)]
    means = nn.ParameterList([nn.Parameter(0.1 * torch.randn(s)) for s in shapes])
    logs = nn.ParameterList([nn.Parameter(torch.full(s, -1.5)) for s in shapes])
    Z = nn.Parameter(torch.randn(n_inducing, n_inputs))
    log_noise = nn.Parameter(torch.tensor(-1.0, dtype=torch.float64))

    def network(sizes):
        layers = []
        for k, p in pairwise(sizes):
            layers += [nn.Linear(k, p), nn.LeakyReLU(0.1)]
        return nn.Sequential(*layers[:-1])

    posterior = network([N_NOISE, WIDTH, WIDTH, n_inducing])
    classifier = network([n_inducing, WIDTH, WIDTH, 1])
    everything = [*means, *logs, Z, log_noise, *posterior.parameters()]
    primal = torch.optim.Adam(everything, lr=1e-3)
    dual = torch.optim.Adam(classifier.parameters(), lr=1e-3)
    eye = torch.eye(n_inducing, dtype=torch.float64)
    labels = torch.cat([torch.ones(n_draws, 1), torch.zeros(n_draws, 1)])

    def step():
        rows = torch.cat([X, Z])
        w = [
            m + torch.exp(s) * torch.randn(n_draws, *m.shape)
            for m, s in zip(means, logs, strict=True)
        ]
        hidden = act(rows @ w[0] + w[1], 0.1)
        f = (act(hidden @ w[2] + w[3], 0.1) @ w[4] + w[5])[:, :, 0]
        f_x, f_z = f[:, :batch], f[:, batch:]
        u = posterior(torch.randn(n_draws, N_NOISE))

        both = torch.cat([u, f_z]).detach()
        dual.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(classifier(both), labels).backward()
        dual.step()

        f_x, f_z, wide = f_x.double(), f_z.double(), u.double()
        m_x, m_z = f_x.mean(0), f_z.mean(0)
        d_x, d_z = (f_x - m_x) / (n_draws - 1) ** 0.5, (f_z - m_z) / (n_draws - 1) ** 0.5
        factor = torch.linalg.cholesky(d_z.T @ d_z + 1e-5 * eye)
        half = torch.linalg.solve_triangular(factor, d_z.T @ d_x, upper=False)
        rest = torch.linalg.solve_triangular(factor, (wide - m_z).T, upper=False)
        mu = m_x + rest.T @ half
        total = (d_x**2).sum(0) - (half**2).sum(0) + torch.exp(log_noise)
        log_p = -0.5 * ((y - mu) ** 2 / total + torch.log(2 * np.pi * total))
        fit = (torch.logsumexp(log_p, 0) - np.log(n_draws)).mean()
        divergence = 0.5 * (classifier(u).mean() - classifier(f[:, batch:]).mean())
        primal.zero_grad()
        (divergence / N_TOTAL - fit).backward()
        primal.step()

    return step


def milliseconds(steps, repeats):
    """Median processor time of each step, the steps taken in turn."""
    times = [[] for _ in steps]
    for step in steps:
        step(), step()
    for _ in range(repeats):
        for step, kept in zip(steps, times, strict=True):
            begin = time.process_time()
            step()
            kept.append(1e3 * (time.process_time() - begin))
    return [(np.median(kept), min(kept)) for kept in times]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--inducing", type=int, default=50)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--inputs", type=int, nargs="+", default=[1, 8])
    options = parser.parse_args()
    try:
        import torch

        torch.set_num_threads(1)
    except ImportError:
        torch = None
        print("PyTorch is not installed: the comparison is left out (pip install torch).")
    print("inputs  batch   here: median, least ms   PyTorch: median, least   ratio of medians")
    for n_inputs in options.inputs:
        for batch in (10, 100):
            sizes = batch, options.inducing, options.draws, n_inputs
            steps = [ours(*sizes)] + ([theirs(torch, *sizes)] if torch else [])
            (here, least), *peer = milliseconds(steps, options.repeats)
            line = f"{n_inputs:6d}  {batch:5d}   {here:12.2f}  {least:7.2f}"
            if peer:
                line += f"    {peer[0][0]:12.2f}  {peer[0][1]:7.2f}   {peer[0][0] / here:8.2f}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
