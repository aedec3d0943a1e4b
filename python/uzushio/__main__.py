"""`python -m uzushio`: the command line."""

from uzushio.cli import main

if __name__ == "__main__":
    main()
