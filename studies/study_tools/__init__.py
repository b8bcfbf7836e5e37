"""Common tools of the studies: claims and their verdicts, tables, pages.

`claims` defines claims and verdicts, `table` shows rows as text and Markdown, `verdicts` writes claims and
measurements to a page, `command` is the command line of a study that consists of sweeps. A study is a folder
beside this one, whose package puts this folder on the module path.
"""
