"""Which family models which columns: by their dtypes, or by the evidence of the rows."""
