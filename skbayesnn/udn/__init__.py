"""Unbounded-depth networks (Nazaret and Blei, ICML 2022)."""

from skbayesnn.udn.classifier import UDNClassifier
from skbayesnn.udn.convolution import ConvolutionalLayers
from skbayesnn.udn.layers import Layer, check_layer
from skbayesnn.udn.regressor import UDNRegressor

__all__ = ["ConvolutionalLayers", "Layer", "UDNClassifier", "UDNRegressor", "check_layer"]
