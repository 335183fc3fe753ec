"""Nothing a test prints, compiles or draws depends on the order of the tests."""

import sys
from pathlib import Path

# Helpers that several test modules share.
sys.path.insert(0, str(Path(__file__).parent / "helpers"))
