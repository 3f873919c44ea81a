"""A campaign against softaug: signals, damaged files, environment faults, API calls, hostile files.

    make campaign            or: python -m campaign --budget 60 --seed 0

Not part of the package and not of `make test`. It prints and writes one table.
"""
