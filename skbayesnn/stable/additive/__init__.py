"""The additive model for tables: exact stable processes of single inputs, plus a smooth part."""
