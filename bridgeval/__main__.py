"""`python -m bridgeval`: the command."""

from bridgeval.cli import main

if __name__ == "__main__":
    main()
