"""The report: results as one self-contained HTML page, that opens without a network.

A module for each section turns tables into blocks (`blocks.py`: paragraphs, tables, charts); `page.py` puts
the sections together and fills the template, which escapes all text of users. Charts are drawn by plotly.js,
whose bundle is part of the page.

It imports `analysis` and what is below it, and must not import `odonata.results` or what runs scenarios.
"""
