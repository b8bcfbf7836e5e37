"""The class `Results`: a run in memory or in its folder, with all analyses of it.

It combines `analysis`, `timeline` and `report`, and must not import modules that run scenarios.
"""
