"""Chakra execution traces (MLCommons): what the ranks of a training job computed and sent, as graphs.

```
 NAME.RANK.et ── files ──> which files there are ── reader ──> nodes of a rank (protobuf by `schema`, or JSON)
 nodes ─┬─ survey ──> totals, names, what is wrong: what `odonata trace info` and `lint` print
        └─ order ──> nodes one after the other ── program ──> operations on streams, a program in files
```

Format: https://github.com/mlcommons/chakra, `et_def.proto` of 2023 and later, whose messages `schema` states
again. S. Sridharan et al., "Chakra: Advancing Performance Benchmarking and Co-design using Standardized
Execution Traces", arXiv:2305.14516.
"""

from __future__ import annotations
