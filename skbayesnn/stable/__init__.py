"""One hidden layer of infinite width with α-stable weights (Loría and Bhadra, UAI 2024)."""
