"""The programs of the written traces: each set has calls that the others lack."""

from __future__ import annotations

from collections.abc import Callable

from dumpi import ANY, CHAR, DOUBLE, FIRST_TYPE, INT, NULL, SELF, SUM, WORLD, Rank, Status

#: The status of requests without one.
NONE: Status = (0, -1, -1, False)


def begin(rank: Rank, ranks: int) -> None:
    """The first calls of every rank."""
    rank.call("MPI_Init", argv=["program"])
    rank.call("MPI_Comm_rank", comm=WORLD, v=rank.rank)
    rank.call("MPI_Comm_size", comm=WORLD, v=ranks)


def halo(rank: Rank, ranks: int) -> None:
    """Sweeps over a torus of 2 rows: all waits for requests, polls, probes, synchronous sends."""
    begin(rank, ranks)
    row, column, columns = rank.rank // (ranks // 2), rank.rank % (ranks // 2), ranks // 2
    # East, west, south, north; a message in direction d is received from direction d ^ 1.
    near = [
        row * columns + (column + 1) % columns,
        row * columns + (column - 1) % columns,
        (1 - row) * columns + column,
        (1 - row) * columns + column,
    ]
    count = 1_500
    for sweep in range(6):
        rank.compute(20_000 + 700 * rank.rank)
        for way, other in enumerate(near):
            rank.call(
                "MPI_Irecv", count=count, type=DOUBLE, source=other, tag=way ^ 1, comm=WORLD, req=2 + way
            )
        for way, other in enumerate(near):
            rank.call(
                "MPI_Isend", count=count - way, type=DOUBLE, dest=other, tag=way, comm=WORLD, req=6 + way
            )
        done: list[Status] = [
            (8 * (count - (way ^ 1)), other, way ^ 1, False) for way, other in enumerate(near)
        ]
        sends = list(range(6, 10))
        if sweep % 3 == 0:
            rank.call("MPI_Waitall", count=8, reqs=[2, 3, 4, 5, *sends], status=[*done, *[NONE] * 4])
        elif sweep % 3 == 1:
            rank.call("MPI_Waitany", count=4, reqs=[2, 3, 4, 5], index=2, status=[done[2]])
            rank.call(
                "MPI_Waitsome",
                count=4,
                reqs=[2, 3, 1, 5],
                outcount=2,
                indices=[3, 0],
                status=[done[3], done[0]],
            )
            rank.call("MPI_Wait", req=3, status=[done[1]])
            rank.call("MPI_Waitall", count=4, reqs=sends, status=[])
        else:
            for request in (2, 3):
                rank.call("MPI_Test", req=request, flag=0, status=[])
            rank.call("MPI_Wtime")
            rank.call("MPI_Test", req=2, flag=1, status=[done[0]])
            rank.call("MPI_Waitall", count=7, reqs=[3, 4, 5, *sends], status=[*done[1:], *[NONE] * 4])
        rank.call("MPI_Allreduce", count=1, type=DOUBLE, op=SUM, comm=WORLD)
    right, left = (rank.rank + 1) % ranks, (rank.rank - 1) % ranks
    rank.call(
        "MPI_Sendrecv",
        count=77,
        type=INT,
        dest=right,
        tag=9,
        rcount=80,
        rtype=INT,
        source=left,
        rtag=9,
        comm=WORLD,
        status=[(308, left, 9, False)],
    )
    if rank.rank % 2 == 0:
        rank.call("MPI_Ssend", count=10, type=INT, dest=right, tag=10, comm=WORLD)
    else:
        rank.call("MPI_Iprobe", source=left, tag=10, comm=WORLD, flag=0, status=[])
        rank.call("MPI_Iprobe", source=left, tag=10, comm=WORLD, flag=1, status=[(40, left, 10, False)])
        rank.call(
            "MPI_Recv",
            count=10,
            type=INT,
            source=left,
            tag=10,
            comm=WORLD,
            status=[(40, left, 10, False)],
        )
    rank.call("MPI_Finalize")


def solver(rank: Rank, ranks: int) -> None:
    """Persistent requests around a ring, a datatype, results to rank 0 from the first sender."""
    begin(rank, ranks)
    own = FIRST_TYPE
    rank.sizes.append(24)
    rank.call("MPI_Type_contiguous", count=3, old=DOUBLE, new=own)
    rank.call("MPI_Type_commit", type=own)
    right, left = (rank.rank + 1) % ranks, (rank.rank - 1) % ranks
    rank.call("MPI_Recv_init", count=100, type=own, source=left, tag=1, comm=WORLD, req=2)
    rank.call("MPI_Recv_init", count=100, type=own, source=right, tag=2, comm=WORLD, req=3)
    rank.call("MPI_Send_init", count=100, type=own, dest=right, tag=1, comm=WORLD, req=4)
    rank.call("MPI_Send_init", count=60, type=own, dest=left, tag=2, comm=WORLD, req=5)
    for step in range(8):
        if step % 2:
            rank.call("MPI_Startall", count=4, reqs=[2, 3, 4, 5])
        else:
            for request in (2, 3, 4, 5):
                rank.call("MPI_Start", req=request)
        rank.compute(15_000 + 900 * ((rank.rank + step) % 5))
        statuses: list[Status] = [(2_400, left, 1, False), (1_440, right, 2, False), NONE, NONE]
        rank.call("MPI_Waitall", count=4, reqs=[2, 3, 4, 5], status=statuses)
        rank.call("MPI_Allreduce", count=2, type=DOUBLE, op=SUM, comm=WORLD)
    for request in (2, 3, 4, 5):
        rank.call("MPI_Request_free", req=request)
    rank.call("MPI_Bcast", count=3_000, type=INT, root=2, comm=WORLD)
    rank.call("MPI_Reduce", count=500, type=DOUBLE, op=SUM, root=1, comm=WORLD)
    if rank.rank == 0:
        # In the order of arrival.
        for other in [*range(2, ranks, 2), *range(1, ranks, 2)]:
            rank.call("MPI_Probe", source=ANY, tag=ANY, comm=WORLD, status=[(8 * other, other, 20, False)])
            rank.call(
                "MPI_Recv",
                count=1_000,
                type=DOUBLE,
                source=ANY,
                tag=ANY,
                comm=WORLD,
                status=[(8 * other, other, 20, False)],
            )
    else:
        rank.call("MPI_Send", count=rank.rank, type=DOUBLE, dest=0, tag=20, comm=WORLD)
    rank.call("MPI_Barrier", comm=WORLD)
    rank.call("MPI_Finalize")


def grids(rank: Rank, ranks: int) -> None:
    """Communicators: a copy, halves, rows of a grid, a group, two groups that become one."""
    begin(rank, ranks)
    me, half = rank.rank, ranks // 2
    rank.call("MPI_Comm_dup", comm=WORLD, new=4)
    rank.call("MPI_Allreduce", count=5, type=INT, op=SUM, comm=4)
    rank.call("MPI_Comm_split", comm=WORLD, color=me % 2, key=-me, new=5)
    # Descending keys: the highest rank of each half is its rank 0.
    place = (ranks - 1 - me) // 2
    other = (place + 1) % half
    rank.call("MPI_Isend", count=200, type=DOUBLE, dest=other, tag=1, comm=5, req=2)
    before = (place - 1) % half
    rank.call(
        "MPI_Recv",
        count=200,
        type=DOUBLE,
        source=before,
        tag=1,
        comm=5,
        status=[(1_600, before, 1, False)],
    )
    rank.call("MPI_Wait", req=2, status=[NONE])
    rank.call("MPI_Bcast", count=40, type=DOUBLE, root=1, comm=5)
    rank.compute(30_000)
    rank.call("MPI_Cart_create", comm=WORLD, ndim=2, dims=[2, half], periods=[0, 1], reorder=0, new=6)
    rank.call("MPI_Cart_sub", ndim=2, comm=6, remain=[0, 1], new=7)
    rank.call("MPI_Allgather", count=30, type=INT, rcount=30, rtype=INT, comm=7)
    rank.call("MPI_Comm_group", comm=WORLD, group=3)
    rank.call("MPI_Group_incl", group=3, count=3, ranks=[4, 0, 3], new=4)
    within = me in (4, 0, 3)
    rank.call("MPI_Comm_create", comm=WORLD, group=4, new=8 if within else NULL)
    rank.call("MPI_Group_free", group=4)
    if within:
        rank.call("MPI_Alltoall", count=50, type=DOUBLE, rcount=50, rtype=DOUBLE, comm=8)
        rank.call("MPI_Comm_free", comm=8)
    # Even ranks and odd ranks, whose leaders are the ranks 0 of the halves.
    remote = ranks - 2 if me % 2 else ranks - 1
    rank.call("MPI_Intercomm_create", local=5, lleader=0, remote=WORLD, rleader=remote, tag=3, new=9)
    rank.call("MPI_Send", count=12, type=INT, dest=place, tag=4, comm=9)
    rank.call("MPI_Recv", count=12, type=INT, source=place, tag=4, comm=9, status=[(48, place, 4, False)])
    rank.call("MPI_Intercomm_merge", comm=9, high=me % 2, new=10)
    rank.call("MPI_Allreduce", count=9, type=INT, op=SUM, comm=10)
    rank.call("MPI_Barrier", comm=SELF)
    for comm in (10, 9, 7, 6, 5, 4):
        rank.call("MPI_Comm_free", comm=comm)
    rank.call("MPI_Finalize")


def files(rank: Rank, ranks: int) -> None:
    """A file of all and one of each rank; offsets, pointers, collective and split access, requests."""
    begin(rank, ranks)
    me, block = rank.rank, 8_192
    status: list[Status] = [(block, 0, 0, False)]
    rank.call("MPI_File_open", comm=WORLD, name="common", amode=2, info=0, file=1)
    for step in range(4):
        rank.compute(10_000)
        at = block * (step * ranks + me)
        rank.call("MPI_File_write_at_all", file=1, off=at, count=block, type=CHAR, status=status)
    rank.call("MPI_File_sync", file=1)
    rank.call("MPI_Barrier", comm=WORLD)
    for step in range(2):
        at = block * (step * ranks + (me + 1) % ranks)
        rank.call("MPI_File_read_at", file=1, off=at, count=block // 4, type=INT, status=status)
    rank.call("MPI_File_read_at_all_begin", file=1, off=block * me, count=block, type=CHAR)
    rank.compute(25_000)
    rank.call("MPI_File_read_at_all_end", file=1, status=status)
    rank.call("MPI_File_set_view", file=1, off=block * me, et=INT, ft=INT, rep="native", info=0)
    rank.call("MPI_File_seek", file=1, off=16, whence=1)
    rank.call("MPI_File_write", file=1, count=100, type=INT, status=[(400, 0, 0, False)])
    rank.call("MPI_File_read", file=1, count=50, type=INT, status=[(200, 0, 0, False)])
    rank.call("MPI_File_close", file=1)
    rank.call("MPI_File_open", comm=SELF, name=f"own-{me}", amode=2, info=0, file=2)
    rank.call("MPI_File_iwrite_at", file=2, off=0, count=2 * block, type=CHAR, req=2)
    rank.call("MPI_File_iread_at", file=2, off=3 * block, count=block, type=CHAR, req=3)
    rank.compute(5_000)
    rank.call("MPI_Wait", req=3, status=status)
    rank.call("MPI_Wait", req=2, status=[(2 * block, 0, 0, False)])
    rank.call("MPI_File_write_at", file=2, off=2 * block, count=10, type=DOUBLE, status=[(80, 0, 0, False)])
    rank.call("MPI_File_close", file=2)
    rank.call("MPI_File_open", comm=WORLD, name="log", amode=2, info=0, file=1)
    rank.call("MPI_File_write_ordered", file=1, count=10 + me, type=CHAR, status=[(10 + me, 0, 0, False)])
    rank.call("MPI_File_close", file=1)
    rank.call("MPI_Finalize")


def collectives(rank: Rank, ranks: int) -> None:
    """Every collective of MPI-1 and `MPI_Exscan`, with blocks of one size and of several."""
    begin(rank, ranks)
    me = rank.rank
    sizes = [10 + 7 * other for other in range(ranks)]
    at = [sum(sizes[:other]) for other in range(ranks)]
    plain = {"count": 300, "type": INT, "comm": WORLD}
    for root in (0, 3):
        rank.compute(4_000 * (1 + me % 3))
        rank.call("MPI_Barrier", comm=WORLD)
        rank.call("MPI_Bcast", root=root, **plain)
        rank.call("MPI_Reduce", root=root, op=SUM, **plain)
        rank.call("MPI_Allreduce", op=SUM, **plain)
        rank.call("MPI_Scan", op=SUM, **plain)
        rank.call("MPI_Exscan", op=SUM, **plain)
        rank.call("MPI_Reduce_scatter", commsize=ranks, rcounts=sizes, type=DOUBLE, op=SUM, comm=WORLD)
        rank.call("MPI_Allgather", rcount=300, rtype=INT, **plain)
        rank.call("MPI_Alltoall", rcount=300, rtype=INT, **plain)
        rank.call(
            "MPI_Allgatherv",
            commsize=ranks,
            count=sizes[me],
            type=INT,
            rcounts=sizes,
            displs=at,
            rtype=INT,
            comm=WORLD,
        )
        rank.call(
            "MPI_Alltoallv",
            commsize=ranks,
            counts=[me + 2 * to for to in range(ranks)],
            sdispls=at,
            type=DOUBLE,
            rcounts=[giver + 2 * me for giver in range(ranks)],
            rdispls=at,
            rtype=DOUBLE,
            comm=WORLD,
        )
        only = {"rcount": 64, "rtype": INT} if me == root else {}
        rank.call("MPI_Gather", rank=me, scount=64, stype=INT, root=root, comm=WORLD, **only)
        only = {"scount": 64, "stype": INT} if me == root else {}
        rank.call("MPI_Scatter", rank=me, rcount=64, rtype=INT, root=root, comm=WORLD, **only)
        listed = {"rcounts": sizes, "displs": at} if me == root else {}
        rank.call(
            "MPI_Gatherv",
            rank=me,
            commsize=ranks,
            scount=sizes[me],
            stype=INT,
            root=root,
            comm=WORLD,
            rtype=INT,
            **listed,
        )
        listed = {"scounts": sizes, "displs": at} if me == root else {}
        rank.call(
            "MPI_Scatterv",
            rank=me,
            commsize=ranks,
            stype=INT,
            rcount=sizes[me],
            rtype=INT,
            root=root,
            comm=WORLD,
            **listed,
        )
    rank.call("MPI_Finalize")


def threads(rank: Rank, ranks: int) -> None:
    """Two threads of each rank, each with messages and tags of its own."""
    rank.threaded = True
    rank.call("MPI_Init_thread", argv=[], required=4, provided=4)
    right, left = (rank.rank + 1) % ranks, (rank.rank - 1) % ranks
    for step in range(4):
        for thread in (0, 1):
            rank.compute(6_000 + 3_000 * thread, thread)
            request, tag = 2 + thread, 5 + thread
            rank.call(
                "MPI_Isend",
                thread=thread,
                count=400 * (1 + step),
                type=INT,
                dest=right,
                tag=tag,
                comm=WORLD,
                req=request,
            )
            rank.call(
                "MPI_Recv",
                thread=thread,
                count=1_600,
                type=INT,
                source=left,
                tag=tag,
                comm=WORLD,
                status=[(1_600 * (1 + step), left, tag, False)],
            )
            rank.call("MPI_Wait", thread=thread, req=request, status=[NONE])
    rank.call("MPI_Finalize")


def old(rank: Rank, ranks: int) -> None:
    """A ring under an early tracer, whose statuses have no tags."""
    begin(rank, ranks)
    right, left = (rank.rank + 1) % ranks, (rank.rank - 1) % ranks
    for step in range(3):
        rank.call("MPI_Isend", count=1 + step, type=INT, dest=right, tag=step, comm=WORLD, req=2)
        rank.call(
            "MPI_Recv",
            count=4,
            type=INT,
            source=left,
            tag=step,
            comm=WORLD,
            status=[(4 * (1 + step), left, step, False)],
        )
        rank.call("MPI_Wait", req=2, status=[NONE])
    rank.call("MPI_Barrier", comm=WORLD)
    rank.call("MPI_Finalize")


#: Name of the set, ranks, program, version of the tracer.
SETS: dict[str, tuple[int, Callable[[Rank, int], None], tuple[int, int, int]]] = {
    "halo-8": (8, halo, (13, 0, 0)),
    "solver-7": (7, solver, (13, 0, 0)),
    "grids-6": (6, grids, (13, 0, 0)),
    "files-6": (6, files, (13, 0, 0)),
    "collectives-5": (5, collectives, (13, 0, 0)),
    "threads-3": (3, threads, (8, 1, 0)),
    "old-3": (3, old, (0, 6, 2)),
}
