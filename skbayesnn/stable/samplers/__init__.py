"""The Markov chains, and the draws that they are made of."""
