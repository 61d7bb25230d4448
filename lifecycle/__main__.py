"""`python -m lifecycle` is the same program as `muster`."""

from lifecycle.cli import main

if __name__ == "__main__":
    main()
