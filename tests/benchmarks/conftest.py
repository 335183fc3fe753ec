"""Benchmarks are scripts, not a package."""

import sys
from pathlib import Path

# Last: their names are short.
sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
