"""Random and hostile trials of everything that a user can hand to Odonata; see README.md beside this file."""
