"""`python -m bridgeval.spark`: the same as `bridgeval spark`."""

import sys

from bridgeval.cli import main

if __name__ == "__main__":
    main(["spark", *sys.argv[1:]])
