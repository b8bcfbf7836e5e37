"""Reads a Darshan log with PyDarshan and writes its content as tables; runs in a process of its own.

The C library under PyDarshan trusts the log. Its crash on a damaged log ends only this process, which
`reader_worker.py` bounds. This module imports nothing of Odonata.

Standard output names each step, so that a crash can be located.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: Records of modules that are an array of counters and one of times.
GENERIC = {
    "POSIX": "struct darshan_posix_file **",
    "MPI-IO": "struct darshan_mpiio_file **",
    "STDIO": "struct darshan_stdio_file **",
    "H5F": "struct darshan_hdf5_file **",
    "H5D": "struct darshan_hdf5_dataset **",
    "PNETCDF_FILE": "struct darshan_pnetcdf_file **",
    "PNETCDF_VAR": "struct darshan_pnetcdf_var **",
    "BG/Q": "struct darshan_bgq_record **",
    "DFS": "struct darshan_dfs_file **",
    "DAOS": "struct darshan_daos_object **",
}
#: The word with which the reference tables of logs end the note on a module that is not read.
SUMMARIZED = "summarised"
#: Longest text of a library message that is kept.
LONGEST_TEXT = 2000


class Reader:
    """An open log, and its problems so far."""

    def __init__(self, path: str, out: Path) -> None:
        from darshan.backend import cffi_backend as backend

        self.path, self.out = path, out
        self.backend, self.ffi, self.library = backend, backend.ffi, backend.libdutil
        self.problems: list[dict[str, str]] = []
        self._said = os.lseek(2, 0, os.SEEK_CUR)

    def step(self, where: str) -> None:
        """Prints the next step."""
        self.where = where
        print(where, flush=True)

    def complaint(self) -> str:
        """The library's new output on standard error."""
        end = os.lseek(2, 0, os.SEEK_END)
        text = os.pread(2, min(end - self._said, LONGEST_TEXT), self._said).decode(errors="replace")
        self._said = end
        return " ".join(text.split())

    def problem(self, text: str) -> None:
        """Notes that the current step failed."""
        message = self.complaint()
        self.problems.append({"where": self.where, "text": f"{text}: {message}" if message else text})

    def watch(self) -> None:
        """Notes a failure that the library only prints."""
        if message := self.complaint():
            self.problems.append({"where": self.where, "text": message})

    def text(self, pointer: Any) -> str:
        """A C string."""
        found: bytes = self.ffi.string(pointer)
        return found.decode(errors="replace")

    def read(self) -> dict[str, Any]:
        """Reads everything; writes the tables, and returns the rest."""
        ffi, library = self.ffi, self.library
        self.step("header")
        if not self.open():
            self.problem("it cannot be opened")
            return {"problems": self.problems}
        handle = self.log["handle"]
        self.watch()
        self.step("job record")
        job = ffi.new("struct darshan_job *")
        if library.darshan_log_get_job(handle, job) < 0:
            self.problem("it cannot be read")
            return {"problems": self.problems}
        seconds = ffi.new("double *")
        library.darshan_log_get_job_runtime(handle, job[0], seconds)
        self.watch()
        names = (
            "uid",
            "start_time_sec",
            "start_time_nsec",
            "end_time_sec",
            "end_time_nsec",
            "nprocs",
            "jobid",
        )
        found: dict[str, Any] = {"job": {name: getattr(job[0], name) for name in names}}
        found["job"]["run_time"] = seconds[0]
        # As in PyDarshan: the version is the beginning of the structure behind the handle.
        found["job"]["log_ver"] = self.text(ffi.cast("char *", handle))
        lines = self.text(job[0].metadata).split("\n")[:-1]
        found["job_metadata"] = {
            key: value for key, mark, value in (line.partition("=") for line in lines) if mark
        }
        self.step("command line")
        exe = ffi.new("char[]", 1 << 16)
        if library.darshan_log_get_exe(self.log["handle"], exe) < 0:
            self.problem("it cannot be read")
        found["exe"] = self.text(exe)
        self.step("mounts")
        found["mounts"] = self.attempt(self.mounts, [])
        self.step("names of files")
        found["n_name_records"] = self.attempt(self.names, 0)
        modules = self.backend.log_get_modules(self.log)
        self.watch()
        found["modules"] = {}
        for name, module in modules.items():
            entry = {
                "ver": module["ver"],
                "len": module["len"],
                "idx": module["idx"],
                "partial": bool(module["partial_flag"]),
            }
            found["modules"][name] = entry
            self.step(f"module {name}")
            before = len(self.problems)
            try:
                self.module(name, module["idx"], entry)
                self.watch()
            except MemoryError:
                raise
            except Exception as error:  # the message of PyDarshan is the reported reason
                entry["error"] = f"{type(error).__name__}({error})"
                self.complaint()
            if len(self.problems) > before:
                entry["error"] = self.problems[before]["text"]
                self.open()
        self.step("end")
        found["problems"] = self.problems
        return found

    def attempt(self, part: Callable[[Any], Any], otherwise: Any) -> Any:
        """The result of reading a part of the log, or `otherwise` and a problem."""
        try:
            found = part(self.log["handle"])
            self.watch()
            return found
        except MemoryError:
            raise
        except Exception as error:
            self.problem(f"{type(error).__name__}({error})")
            self.open()
            return otherwise

    def open(self) -> bool:
        """Opens the log, again after a failure: a failed handle cannot continue."""
        handle = self.library.darshan_log_open(os.fsencode(self.path))
        self.log = {"handle": handle, "modules": None, "name_records": None}
        return bool(handle != self.ffi.NULL)

    def mounts(self, handle: Any) -> list[tuple[str, str]]:
        """Mount points and types of file systems, as pairs."""
        mounts, count = self.ffi.new("struct darshan_mnt_info **"), self.ffi.new("int *")
        if self.library.darshan_log_get_mounts(handle, mounts, count) < 0:
            self.problem("they cannot be read")
            return []
        return [(self.text(mounts[0][i].mnt_path), self.text(mounts[0][i].mnt_type)) for i in range(count[0])]

    def names(self, handle: Any) -> int:
        """Writes the table of names; returns their number."""
        records, count = self.ffi.new("struct darshan_name_record **"), self.ffi.new("int *")
        self.library.darshan_log_get_name_records(handle, records, count)
        ids = [records[0][i].id for i in range(count[0])]
        texts = [self.text(records[0][i].name) for i in range(count[0])]
        self.write("names", {"id": self.ids(ids), "name": texts})
        return len(ids)

    def ids(self, ids: list[int]) -> Any:
        """Record numbers as a column."""
        import pyarrow as pa

        return pa.array(ids, pa.uint64())

    def write(self, name: str, columns: dict[str, Any]) -> None:
        """Writes a table."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table(columns), self.out / f"{name}.parquet")

    def records(self, name: str, index: int, struct: str) -> Any:
        """The records of a module, each valid until the next one."""
        where = self.ffi.new("void **")
        while True:
            where[0] = self.ffi.NULL
            answer = self.library.darshan_log_get_record(self.log["handle"], index, where)
            if answer < 0:
                self.problem("a record cannot be read")
            if answer < 1 or where[0] == self.ffi.NULL:
                return
            yield self.ffi.cast(struct, where)[0], where[0]
            self.library.darshan_free(where[0])

    def module(self, name: str, index: int, entry: dict[str, Any]) -> None:
        """Writes the tables of a module."""
        if name in ("DXT_POSIX", "DXT_MPIIO"):
            self.segments(name, index, entry)
        elif name == "LUSTRE":
            self.striping(index, entry)
        elif name == "HEATMAP":
            self.heatmaps(index, entry)
        elif name in GENERIC:
            self.counters(name, index, entry)
        else:
            unread = "autoperf module, counters not " if name.startswith("AP") else "not "
            entry["note"] = unread + SUMMARIZED

    def counters(self, name: str, index: int, entry: dict[str, Any]) -> None:
        """Records that are counters and times."""
        import numpy as np
        import pyarrow as pa

        names = self.backend.counter_names(name)
        times = self.backend.fcounter_names(name)
        if names is None or times is None:
            entry["error"] = "PyDarshan has no names for its counters"
            return
        ids: list[int] = []
        ranks: list[int] = []
        whole, real = bytearray(), bytearray()
        for record, _ in self.records(name, index, GENERIC[name]):
            ids.append(record.base_rec.id)
            ranks.append(record.base_rec.rank)
            whole += bytes(self.ffi.buffer(record.counters))
            real += bytes(self.ffi.buffer(record.fcounters))
        counts = np.frombuffer(bytes(whole), np.int64).reshape(len(ids), -1 if ids else len(names))
        seconds = np.frombuffer(bytes(real), np.float64).reshape(len(ids), -1 if ids else len(times))
        columns: dict[str, Any] = {"id": self.ids(ids), "rank": pa.array(ranks, pa.int64())}
        columns |= {text: np.ascontiguousarray(counts[:, i]) for i, text in enumerate(names)}
        columns |= {text: np.ascontiguousarray(seconds[:, i]) for i, text in enumerate(times)}
        self.write(name.replace("/", ""), columns)
        entry |= {"records": len(ids), "counter_names": names, "fcounter_names": times}

    def segments(self, name: str, index: int, entry: dict[str, Any]) -> None:
        """Accesses by DXT: a row each, in the order of the log, writes of a record first."""
        import numpy as np
        import pyarrow as pa

        layout = np.dtype([("offset", "<i8"), ("length", "<i8"), ("start", "<f8"), ("end", "<f8")])
        skip = self.ffi.sizeof("struct dxt_file_record")
        records: list[tuple[int, int, str, int, int]] = []
        parts: list[Any] = []
        for record, begin in self.records(name, index, "struct dxt_file_record **"):
            writes, reads = record.write_count, record.read_count
            if min(writes, reads) < 0:
                self.problem(f"a record of {writes} writes and {reads} reads")
                return
            host = self.text(record.hostname)
            records.append((record.base_rec.id, record.base_rec.rank, host, writes, reads))
            held = self.ffi.buffer(begin + skip, (writes + reads) * layout.itemsize)
            parts.append(np.frombuffer(bytes(held), layout))
        rows = np.concatenate(parts) if parts else np.empty(0, layout)
        ids, ranks, hosts, writes, reads = zip(*records, strict=True) if records else ((),) * 5
        counts = np.array([writes, reads], np.int64).T.reshape(-1)
        self.write(
            f"{name}.records",
            {
                "id": self.ids(list(ids)),
                "rank": pa.array(ranks, pa.int64()),
                "host": pa.array(hosts, pa.string()),
                "writes": pa.array(writes, pa.int64()),
                "reads": pa.array(reads, pa.int64()),
            },
        )
        owner = np.repeat(np.repeat(np.arange(len(records)), 2), counts)
        is_write = np.repeat(np.tile([True, False], len(records)), counts)
        columns: dict[str, Any] = {"record": owner, "write": is_write}
        columns |= {field: np.ascontiguousarray(rows[field]) for field in layout.names or ()}
        self.write(name, columns)
        entry["records"] = len(records)

    def striping(self, index: int, entry: dict[str, Any]) -> None:
        """Layouts of files on Lustre: a row per component."""
        names = self.backend.counter_names("LUSTRE_COMP")
        rows: dict[str, list[Any]] = {"id": [], "rank": [], **{name: [] for name in names}}
        rows |= {"LUSTRE_POOL_NAME": [], "LUSTRE_OST_IDS": []}
        records = 0
        for record, _ in self.records("LUSTRE", index, "struct darshan_lustre_record **"):
            records += 1
            used = 0
            for number in range(record.num_comps):
                component = record.comps[number]
                counters = dict(zip(names, self.ffi.unpack(component.counters, len(names)), strict=True))
                stripes = counters["LUSTRE_COMP_STRIPE_COUNT"]
                if not 0 <= stripes <= record.num_stripes - used:
                    self.problem(f"a component of {stripes} stripes, of {record.num_stripes} in the record")
                    return
                rows["id"].append(record.base_rec.id)
                rows["rank"].append(record.base_rec.rank)
                for name, value in counters.items():
                    rows[name].append(value)
                rows["LUSTRE_POOL_NAME"].append(self.text(component.pool_name))
                rows["LUSTRE_OST_IDS"].append(
                    self.ffi.unpack(record.ost_ids + used, stripes) if stripes else []
                )
                used += stripes
        import pyarrow as pa

        kinds = {"id": pa.uint64(), "LUSTRE_POOL_NAME": pa.string(), "LUSTRE_OST_IDS": pa.list_(pa.int64())}
        table = {name: pa.array(values, kinds.get(name, pa.int64())) for name, values in rows.items()}
        self.write("LUSTRE", table)
        entry |= {
            "records": records,
            "columns": ["rank", "id", *(name for name in table if name not in ("id", "rank"))],
        }

    def heatmaps(self, index: int, entry: dict[str, Any]) -> None:
        """Bytes over time by rank: number and width of the bins."""
        maps: dict[int, dict[str, Any]] = {}
        for record, _ in self.records("HEATMAP", index, "struct darshan_heatmap_record **"):
            found = maps.setdefault(record.base_rec.id, {"nbins": 0, "bin_width_s": 0.0})
            found["nbins"] = max(found["nbins"], record.nbins)
            found["bin_width_s"] = max(found["bin_width_s"], record.bin_width_seconds)
        entry["heatmaps"] = {str(number): found for number, found in maps.items()}


def load() -> None:
    """Imports the package."""
    print("package darshan", flush=True)
    import darshan  # noqa: F401


def read(path: str, folder: Path) -> dict[str, Any]:
    """Reads the log at `path`; writes tables to `folder`, and returns the rest."""
    import darshan

    return {**Reader(path, folder).read(), "pydarshan": darshan.__version__}
