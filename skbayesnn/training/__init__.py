"""Training shared by UDN, SIP and DWP: the loop, common parameters, and additions to the papers."""
