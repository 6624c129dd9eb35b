"""Tables, labels and rows: the only input edge."""
