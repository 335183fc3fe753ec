"""The one training loop of UDN, SIP and DWP, and the constructor parameters that they share."""
