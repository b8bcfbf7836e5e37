"""The report: results as one self-contained HTML page that works offline.

A module for each section turns tables into blocks (`blocks.py`: paragraphs, tables, charts). `page.py` joins
the sections and fills the template, which escapes all text of users. Charts are drawn by plotly.js, whose
bundle is part of the page.

It imports `analysis` and the packages below, and must not import `odonata.results` or modules that run
scenarios.
"""
