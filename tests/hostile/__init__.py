"""Random and hostile trials of everything that Odonata accepts; see README.md beside this file."""
