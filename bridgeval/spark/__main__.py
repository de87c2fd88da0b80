"""`python -m bridgeval.spark`."""

import sys

from bridgeval.spark.job import main

if __name__ == "__main__":
    sys.exit(main())
