"""Exports of NVIDIA Nsight Systems: computation and communication of GPUs, kernel by kernel.

```
 NAME.sqlite ── files ──> exports of a job ── reader ──> worker: a process of its own that reads SQLite
 worker ──> kernels, copies, launches, ranges of NCCL ── calls ──> calls of NCCL with their kernels
 job ──> ranks, communicators ──┬─ format ──> the output of `odonata trace info` and `lint`
                                └─ program ──> operations on streams, a program in files
```

`nsys export --type sqlite` writes them; tables and columns are those of the SQLite schema reference of the
user guide of Nsight Systems. NVTX ranges of NCCL describe its communication: with payloads, as NCCL has them
from 2.18 on (`nvtx_payload_schemas.h`), or with text, as the NCCL of ATLAHS writes it (S. Shen et al.,
"ATLAHS: an application-centric network simulator toolchain for AI, HPC, and distributed storage", SC 2025).
"""

from __future__ import annotations
