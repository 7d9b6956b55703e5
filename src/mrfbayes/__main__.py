"""``python -m mrfbayes`` is the command line."""

from mrfbayes.cli import main

if __name__ == "__main__":
    main()
