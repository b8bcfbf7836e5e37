"""What studies of published papers share: claims and their verdicts, tables, pages.

`claims` says what a claim is and how a verdict comes about, `table` shows rows as text and Markdown,
`verdicts` puts claims and what was measured on a page, `command` is the command line of a study that is
sweeps. A study is a folder beside this one, whose package puts this folder on the module path.
"""
