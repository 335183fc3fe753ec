"""Noise of rows: Student-t noise, scales that depend on the inputs, and the sampling of both."""
