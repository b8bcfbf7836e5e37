"""`python -m odonata` is the command `odonata`."""

from odonata.cli import main

main()
