"""Advice: which settings of a scenario are better than the present ones, by how much, and why.

Read in this order:

- `choices`: the candidates;
- `goals`: what is better, and the limits that an answer must keep;
- `search`: few candidates by flows, then packets with seeds;
- `page`: the answer for people.
"""

from __future__ import annotations
