"""Mathematics shared by the models; imports nothing from them."""
