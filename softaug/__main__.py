"""`python -m softaug` is the `softaug` command."""

from softaug.cli import main

main()
