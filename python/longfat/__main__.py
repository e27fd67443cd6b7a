"""`python -m longfat` is the same as `longfat`."""

from longfat.cli import main

main()
