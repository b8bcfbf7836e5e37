"""Recorded programs: which format is at a path, what is in it, and how it becomes a program in files.

`formats` knows all formats. Those with a Python library or schema have a package each: `chakra`,
`darshan_log`, `nsys_export`, `otf2_archive`. Libraries that trust their input run in a process of their own
(`reader_process`).

It imports `base`, `programs` and `odonata.operations`, and must not import the API or the command line.
"""
