"""Recorded programs: detection of their format, their content, and their conversion to programs in files.

`formats` lists all formats. Formats with a Python library or schema have a package each: `chakra`,
`darshan_log`, `nsys_export`, `otf2_archive`. Libraries that trust their input run in a process of their own
(`reader_process`).

It imports `base`, `programs` and `odonata.operations`, and must not import the API or the command line.
"""
