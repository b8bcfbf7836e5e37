"""Programs of ranks: Python generators (`rank_programs`), tables of operations, programs in coNCePTuaL.

The operations themselves are public: `odonata.operations`, `odonata.collective_io`, `odonata.nccl`.

It imports `base`, and must not import the scenario or the runs that use programs.
"""
