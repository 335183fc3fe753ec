"""Noise of rows: Student's law, a scale that depends on the inputs, and how both are sampled."""
