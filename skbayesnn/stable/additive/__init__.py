"""The model for tables: exact stable processes of single inputs, and a smooth rest."""
