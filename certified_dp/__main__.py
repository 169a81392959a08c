"""``python -m certified_dp`` is the command line."""

from certified_dp.cli import main

if __name__ == "__main__":
    main()
