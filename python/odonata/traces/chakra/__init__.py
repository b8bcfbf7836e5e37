"""Chakra execution traces (MLCommons): computation and communication of a training job's ranks, as graphs.

```
 NAME.RANK.et ── files ──> the files of a trace ── reader ──> nodes of a rank (protobuf by `schema`, or JSON)
 nodes ─┬─ survey ──> totals, names, errors: the output of `odonata trace info` and `lint`
        └─ order ──> nodes one after the other ── program ──> operations on streams, a program in files
```

Format: https://github.com/mlcommons/chakra, `et_def.proto` of 2023 and later, whose messages `schema`
repeats. S. Sridharan et al., "Chakra: Advancing Performance Benchmarking and Co-design using Standardized
Execution Traces", arXiv:2305.14516.
"""

from __future__ import annotations
