//! Labels of the calls that the reader interprets.

use super::table::{CALLS, TABLE};

const fn equal(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut at = 0;
    while at < a.len() {
        if a[at] != b[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// The label of `MPI_name`; a name missing from the table does not compile.
const fn of(name: &str) -> u16 {
    let mut label = 0;
    while label < CALLS {
        if equal(TABLE[label].0.as_bytes(), name.as_bytes()) {
            return label as u16;
        }
        label += 1;
    }
    panic!("no such call in the table")
}

macro_rules! labels {
    ($($label:ident $name:literal),* $(,)?) => {
        $(pub(super) const $label: u16 = of($name);)*
    };
}

labels! {
    GET_COUNT "MPI_Get_count", OP_CREATE "MPI_Op_create", OP_FREE "MPI_Op_free",
    SEND "MPI_Send", BSEND "MPI_Bsend", SSEND "MPI_Ssend", RSEND "MPI_Rsend", RECV "MPI_Recv",
    ISEND "MPI_Isend", IBSEND "MPI_Ibsend", ISSEND "MPI_Issend", IRSEND "MPI_Irsend", IRECV "MPI_Irecv",
    INIT "MPI_Init", INIT_THREAD "MPI_Init_thread", FINALIZE "MPI_Finalize",
    WAIT "MPI_Wait", TEST "MPI_Test", REQUEST_FREE "MPI_Request_free", WAITANY "MPI_Waitany", TESTANY "MPI_Testany",
    WAITALL "MPI_Waitall", TESTALL "MPI_Testall", WAITSOME "MPI_Waitsome", TESTSOME "MPI_Testsome",
    IPROBE "MPI_Iprobe", PROBE "MPI_Probe", CANCEL "MPI_Cancel",
    REQUEST_GET_STATUS "MPI_Request_get_status",
    SEND_INIT "MPI_Send_init", BSEND_INIT "MPI_Bsend_init", SSEND_INIT "MPI_Ssend_init", RSEND_INIT "MPI_Rsend_init",
    RECV_INIT "MPI_Recv_init", START "MPI_Start", STARTALL "MPI_Startall",
    SENDRECV "MPI_Sendrecv", SENDRECV_REPLACE "MPI_Sendrecv_replace",
    BARRIER "MPI_Barrier", BCAST "MPI_Bcast", GATHER "MPI_Gather", GATHERV "MPI_Gatherv", SCATTER "MPI_Scatter",
    SCATTERV "MPI_Scatterv", ALLGATHER "MPI_Allgather", ALLGATHERV "MPI_Allgatherv", ALLTOALL "MPI_Alltoall",
    ALLTOALLV "MPI_Alltoallv", ALLTOALLW "MPI_Alltoallw", REDUCE "MPI_Reduce", ALLREDUCE "MPI_Allreduce",
    REDUCE_SCATTER "MPI_Reduce_scatter", SCAN "MPI_Scan", EXSCAN "MPI_Exscan",
    TYPE_CONTIGUOUS "MPI_Type_contiguous", TYPE_VECTOR "MPI_Type_vector", TYPE_HVECTOR "MPI_Type_hvector",
    TYPE_INDEXED "MPI_Type_indexed", TYPE_HINDEXED "MPI_Type_hindexed", TYPE_STRUCT "MPI_Type_struct",
    TYPE_CREATE_HINDEXED "MPI_Type_create_hindexed", TYPE_CREATE_HVECTOR "MPI_Type_create_hvector",
    TYPE_CREATE_INDEXED_BLOCK "MPI_Type_create_indexed_block", TYPE_CREATE_STRUCT "MPI_Type_create_struct",
    TYPE_CREATE_RESIZED "MPI_Type_create_resized", TYPE_CREATE_SUBARRAY "MPI_Type_create_subarray",
    TYPE_CREATE_DARRAY "MPI_Type_create_darray", TYPE_DUP "MPI_Type_dup", TYPE_SIZE "MPI_Type_size",
    COMM_GROUP "MPI_Comm_group", COMM_REMOTE_GROUP "MPI_Comm_remote_group", GROUP_UNION "MPI_Group_union",
    GROUP_INTERSECTION "MPI_Group_intersection", GROUP_DIFFERENCE "MPI_Group_difference",
    GROUP_INCL "MPI_Group_incl", GROUP_EXCL "MPI_Group_excl", GROUP_RANGE_INCL "MPI_Group_range_incl",
    GROUP_RANGE_EXCL "MPI_Group_range_excl", GROUP_FREE "MPI_Group_free",
    COMM_RANK "MPI_Comm_rank", COMM_DUP "MPI_Comm_dup", COMM_CREATE "MPI_Comm_create",
    COMM_SPLIT "MPI_Comm_split", COMM_FREE "MPI_Comm_free", COMM_DISCONNECT "MPI_Comm_disconnect",
    INTERCOMM_CREATE "MPI_Intercomm_create", INTERCOMM_MERGE "MPI_Intercomm_merge", CART_CREATE "MPI_Cart_create",
    CART_SUB "MPI_Cart_sub", GRAPH_CREATE "MPI_Graph_create", COMM_ACCEPT "MPI_Comm_accept",
    COMM_CONNECT "MPI_Comm_connect", COMM_GET_PARENT "MPI_Comm_get_parent", COMM_JOIN "MPI_Comm_join",
    COMM_SPAWN "MPI_Comm_spawn", COMM_SPAWN_MULTIPLE "MPI_Comm_spawn_multiple",
    ACCUMULATE "MPI_Accumulate", GET "MPI_Get", PUT "MPI_Put", WIN_CREATE "MPI_Win_create", WIN_FENCE "MPI_Win_fence",
    WIN_FREE "MPI_Win_free",
    FILE_OPEN "MPI_File_open", FILE_CLOSE "MPI_File_close", FILE_SET_VIEW "MPI_File_set_view",
    FILE_READ_AT "MPI_File_read_at", FILE_READ_AT_ALL "MPI_File_read_at_all", FILE_WRITE_AT "MPI_File_write_at",
    FILE_WRITE_AT_ALL "MPI_File_write_at_all", FILE_IREAD_AT "MPI_File_iread_at",
    FILE_IWRITE_AT "MPI_File_iwrite_at", FILE_READ "MPI_File_read", FILE_READ_ALL "MPI_File_read_all",
    FILE_WRITE "MPI_File_write", FILE_WRITE_ALL "MPI_File_write_all", FILE_IREAD "MPI_File_iread",
    FILE_IWRITE "MPI_File_iwrite", FILE_SEEK "MPI_File_seek", FILE_READ_SHARED "MPI_File_read_shared",
    FILE_WRITE_SHARED "MPI_File_write_shared", FILE_IREAD_SHARED "MPI_File_iread_shared",
    FILE_IWRITE_SHARED "MPI_File_iwrite_shared", FILE_READ_ORDERED "MPI_File_read_ordered",
    FILE_WRITE_ORDERED "MPI_File_write_ordered", FILE_SEEK_SHARED "MPI_File_seek_shared",
    FILE_SET_SIZE "MPI_File_set_size", FILE_GET_SIZE "MPI_File_get_size",
    FILE_READ_AT_ALL_BEGIN "MPI_File_read_at_all_begin", FILE_READ_AT_ALL_END "MPI_File_read_at_all_end",
    FILE_WRITE_AT_ALL_BEGIN "MPI_File_write_at_all_begin", FILE_WRITE_AT_ALL_END "MPI_File_write_at_all_end",
    FILE_READ_ALL_BEGIN "MPI_File_read_all_begin", FILE_READ_ALL_END "MPI_File_read_all_end",
    FILE_WRITE_ALL_BEGIN "MPI_File_write_all_begin", FILE_WRITE_ALL_END "MPI_File_write_all_end",
    FILE_READ_ORDERED_BEGIN "MPI_File_read_ordered_begin", FILE_READ_ORDERED_END "MPI_File_read_ordered_end",
    FILE_WRITE_ORDERED_BEGIN "MPI_File_write_ordered_begin", FILE_WRITE_ORDERED_END "MPI_File_write_ordered_end",
    MPIO_TEST "MPIO_Test", MPIO_WAIT "MPIO_Wait", MPIO_TESTALL "MPIO_Testall", MPIO_WAITALL "MPIO_Waitall",
    MPIO_TESTANY "MPIO_Testany", MPIO_WAITANY "MPIO_Waitany", MPIO_WAITSOME "MPIO_Waitsome",
    MPIO_TESTSOME "MPIO_Testsome",
}
