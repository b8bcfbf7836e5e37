"""The class `Results`: a run in memory or in its folder, with all that can be asked of it.

It brings together `analysis`, `timeline` and `report`, and must not import what runs scenarios.
"""
