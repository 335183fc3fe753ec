"""The ways in which hidden units are put into classes: one partition a kind of input."""
