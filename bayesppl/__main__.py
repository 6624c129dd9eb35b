"""``python -m bayesppl``."""

from bayesppl.cli import main

main()
