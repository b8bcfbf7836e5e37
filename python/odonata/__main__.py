"""The command `odonata`, also as `python -m odonata`.

It imports next to nothing before it has said what Ctrl-C does meanwhile.
"""

from odonata.base import interrupts


def main() -> None:
    """Entry point."""
    interrupts.leave_at_once()
    from odonata import cli

    cli.main()


if __name__ == "__main__":
    main()
