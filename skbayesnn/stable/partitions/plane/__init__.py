"""The exact cells of two inputs."""
