"""The choice of a family for every column: by its dtype, or by the evidence of the rows."""
