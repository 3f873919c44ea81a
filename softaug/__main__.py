"""`python -m softaug` is the `softaug` command."""

from softaug.lab.cli import main

if __name__ == "__main__":  # processes that are spawned import this file too
    main()
