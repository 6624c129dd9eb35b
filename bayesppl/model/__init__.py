"""The declared model, its posterior, and the rules that classify with it."""
