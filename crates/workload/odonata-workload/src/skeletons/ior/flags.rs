//! IOR's command line: its short flags, with their names in IOR's scripts.
//!
//! Flags and meanings are those of IOR 3.0 to 4.0 (github.com/hpc/ior, `src/parse_options.c`). Sizes have the suffixes k, m, g, t, which are powers
//! of two. `-O name=value,...` sets by name, as in a script of IOR.

use odonata_units::{Filled, Time};

use super::super::command_line::{
    CommandLine, Flag, Grammar, Long, Meaning, count, nothing, refused, size, switch, value,
};
use super::{IorApi, IorParams};

const NO_CONTENT: &str = "simulated data has no content";
const NO_CACHE: &str = "nodes have no page cache";
const OUTPUT: &str = "it concerns IOR's output only";
const PATHS: &str = "simulated files have numbers, not names";
const HDF5_ONLY: &str = "it is for HDF5 only";
const RESERVED: &str = "each write reserves its space";
const HINTS: &str = "hints are the keys cbNodes and cbBufferSize of the table ior";
const SAME_VIEW: &str = "the offsets are the same with a view";
const NO_BUFFERS: &str = "buffers have no memory location";
const LAYOUT: &str = "storage.layout places files";
const NOT_MODELLED: &str = "it is not modeled";
const NEVER_BUILT: &str = "IOR does not implement it either";
const PLACED: &str = "ranks_per_node of the job places ranks on nodes";
const OTHER_INTERFACE: &str = "it belongs to an interface that is not modeled: expected POSIX or MPIIO";

/// All flags.
const FLAGS: &[Flag<IorParams>] = &[
    value('a', "api", |p, text| {
        p.api = match text.to_ascii_uppercase().as_str() {
            "POSIX" => IorApi::Posix,
            "MPIIO" => IorApi::Mpiio,
            _ => {
                return Err(format!("{text:?} is not a modeled interface: expected POSIX or MPIIO"));
            }
        };
        Ok(())
    }),
    nothing('A', "refNum", true, OUTPUT),
    value('b', "blockSize", |p, text| size(text).map(|size| p.block_size = size)),
    nothing('B', "useO_DIRECT", false, NO_CACHE),
    switch('c', "collective", |p, on| flag(on).map(|on| p.collective = on)),
    switch('C', "reorderTasks", |p, on| flag(on).map(|on| p.reorder_tasks = on)),
    value('d', "interTestDelay", |p, text| {
        seconds(text).map(|time| p.inter_test_delay = time)
    }),
    value('D', "deadlineForStonewalling", |p, text| {
        seconds(text).map(|time| p.deadline_for_stonewalling = time)
    }),
    switch('e', "fsync", |p, on| flag(on).map(|on| p.fsync = on)),
    switch('E', "useExistingTestFile", |p, on| {
        flag(on).map(|on| p.use_existing_test_file = on)
    }),
    refused(
        'f',
        "scriptFile",
        true,
        "the tests of a script are a list: workload = [{ ior = \"...\" }, { ior = \"...\" }]",
    ),
    switch('F', "filePerProc", |p, on| flag(on).map(|on| p.file_per_proc = on)),
    switch('g', "intraTestBarriers", |p, on| {
        flag(on).map(|on| p.intra_test_barriers = on)
    }),
    nothing('G', "setTimeStampSignature", true, NO_CONTENT),
    nothing('h', "showHelp", false, OUTPUT),
    nothing('H', "showHints", false, OUTPUT),
    value('i', "repetitions", |p, text| {
        count(text).map(|count| p.repetitions = count)
    }),
    nothing('I', "individualDataSets", false, HDF5_ONLY),
    nothing('j', "outlierThreshold", true, OUTPUT),
    nothing('J', "setAlignment", true, HDF5_ONLY),
    switch('k', "keepFile", |p, on| flag(on).map(|on| p.keep_file = on)),
    nothing('K', "keepFileWithError", false, NO_CONTENT),
    nothing('l', "dataPacketType", true, NO_CONTENT),
    switch('m', "multiFile", |p, on| flag(on).map(|on| p.multi_file = on)),
    nothing('M', "memoryPerNode", true, NO_CACHE),
    nothing('n', "noFill", false, HDF5_ONLY),
    value('N', "numTasks", |p, text| {
        count(text).map(|count| p.num_tasks = Filled::new(count))
    }),
    value('o', "testFile", |p, text| {
        p.test_file = text.into();
        Ok(())
    }),
    nothing('p', "preallocate", false, RESERVED),
    refused('P', "useSharedFilePointer", false, NEVER_BUILT),
    nothing('q', "quitOnError", false, NO_CONTENT),
    value('Q', "taskPerNodeOffset", |p, text| {
        count(text).map(|count| p.task_per_node_offset = count)
    }),
    switch('r', "readFile", |p, on| {
        flag(on).map(|on| p.read_file = Filled::new(on))
    }),
    switch('R', "checkRead", |p, on| flag(on).map(|on| p.check_read = on)),
    value('s', "segmentCount", |p, text| {
        count(text).map(|count| p.segment_count = count)
    }),
    refused('S', "useStridedDatatype", false, NEVER_BUILT),
    value('t', "transferSize", |p, text| {
        size(text).map(|size| p.transfer_size = size)
    }),
    refused(
        'T',
        "maxTimeDuration",
        true,
        "it is not modeled: expected fewer repetitions, -i",
    ),
    nothing('u', "uniqueDir", false, PATHS),
    nothing('U', "hintsFileName", true, HINTS),
    nothing('v', "verbose", false, OUTPUT),
    nothing('V', "useFileView", false, SAME_VIEW),
    switch('w', "writeFile", |p, on| {
        flag(on).map(|on| p.write_file = Filled::new(on))
    }),
    switch('W', "checkWrite", |p, on| flag(on).map(|on| p.check_write = on)),
    nothing('x', "singleXferAttempt", false, "simulated transfers are never short"),
    value('X', "reorderTasksRandomSeed", |p, text| {
        let seed = text.parse().map_err(|_| format!("{text:?} is not a whole number"))?;
        p.reorder_tasks_random_seed = seed;
        Ok(())
    }),
    nothing('y', "dualMount", false, PATHS),
    switch('Y', "fsyncPerWrite", |p, on| flag(on).map(|on| p.fsync_per_write = on)),
    switch('z', "randomOffset", |p, on| flag(on).map(|on| p.random_offset = on)),
    switch('Z', "reorderTasksRandom", |p, on| {
        flag(on).map(|on| p.reorder_tasks_random = on)
    }),
];

/// Script names without a flag, and names with a flag of another name.
const BY_NAME: &[(&str, Meaning<IorParams>)] = &[
    (
        "reorderTasksConstant",
        Meaning::Sets(|p, on| flag(on).map(|on| p.reorder_tasks = on)),
    ),
    (
        "stoneWallingWearOut",
        Meaning::Sets(|p, on| flag(on).map(|on| p.stone_walling_wear_out = on)),
    ),
    (
        "stoneWallingWearOutIterations",
        Meaning::Sets(|p, text| count(text).map(|count| p.stone_walling_wear_out_iterations = count)),
    ),
    (
        "stoneWallingStatusFile",
        Meaning::Sets(|p, text| {
            p.stone_walling_status_file = text.into();
            Ok(())
        }),
    ),
    ("allocateBufferOnGPU", Meaning::Nothing(NO_BUFFERS)),
    ("beegfsChunkSize", Meaning::Refused(LAYOUT)),
    ("beegfsNumTargets", Meaning::Refused(LAYOUT)),
    ("debug", Meaning::Nothing(OUTPUT)),
    ("GPUDirect", Meaning::Nothing(NO_BUFFERS)),
    ("GPUid", Meaning::Nothing(NO_BUFFERS)),
    ("gpfsHintAccess", Meaning::Refused(NOT_MODELLED)),
    ("gpfsReleaseToken", Meaning::Refused(NOT_MODELLED)),
    ("interIODelay", Meaning::Refused(NOT_MODELLED)),
    ("lustreIgnoreLocks", Meaning::Refused("storage.locks sets locks")),
    ("lustreStartOST", Meaning::Refused(LAYOUT)),
    ("lustreStripeCount", Meaning::Refused(LAYOUT)),
    ("lustreStripeSize", Meaning::Refused(LAYOUT)),
    ("memoryPerTask", Meaning::Nothing(NO_CACHE)),
    (
        "minTimeDuration",
        Meaning::Refused("it is not modeled: expected more segments, -s"),
    ),
    ("nodes", Meaning::Refused(PLACED)),
    ("numNodes", Meaning::Refused(PLACED)),
    ("numTasksOnNode0", Meaning::Refused(PLACED)),
    ("platform", Meaning::Nothing(OUTPUT)),
    ("saveRankPerformanceDetailsCSV", Meaning::Nothing(OUTPUT)),
    ("storeFileOffset", Meaning::Nothing(NO_CONTENT)),
    ("summaryAlways", Meaning::Nothing(OUTPUT)),
    ("summaryFile", Meaning::Nothing(OUTPUT)),
    ("summaryFormat", Meaning::Nothing(OUTPUT)),
    ("warningAsErrors", Meaning::Nothing(OUTPUT)),
];

const fn option(name: &'static str, argument: bool, meaning: Meaning<IorParams>) -> Long<IorParams> {
    Long {
        name,
        argument,
        meaning,
    }
}

/// Long options, including those of the modeled interfaces.
const LONG: &[Long<IorParams>] = &[
    option(
        "collective",
        false,
        Meaning::Sets(|p, on| flag(on).map(|on| p.collective = on)),
    ),
    option("dataPacketType", true, Meaning::Nothing(NO_CONTENT)),
    option("dryRun", false, Meaning::Refused("odonata check describes a run")),
    option("gpuDirect", false, Meaning::Nothing(NO_BUFFERS)),
    option("mpiio.hintsFileName", true, Meaning::Nothing(HINTS)),
    option("mpiio.preallocate", false, Meaning::Nothing(RESERVED)),
    option("mpiio.showHints", false, Meaning::Nothing(OUTPUT)),
    option("mpiio.useFileView", false, Meaning::Nothing(SAME_VIEW)),
    option("mpiio.useStridedDatatype", false, Meaning::Refused(NEVER_BUILT)),
    option("posix.odirect", false, Meaning::Nothing(NO_CACHE)),
    option(
        "random-offset-seed",
        true,
        Meaning::Sets(|p, text| {
            let seed = text.parse().map_err(|_| format!("{text:?} is not a whole number"))?;
            p.random_seed = Filled::new(seed);
            Ok(())
        }),
    ),
    option("randomPrefill", true, Meaning::Refused(NOT_MODELLED)),
    option("warningAsErrors", false, Meaning::Nothing(OUTPUT)),
];

/// Options of file systems and of other interfaces, by prefix.
const UNSUPPORTED: &[(&str, &str)] = &[
    ("posix.beegfs.", LAYOUT),
    ("posix.lustre.ignorelocks", "storage.locks sets locks"),
    ("posix.lustre.", LAYOUT),
    ("posix.", NOT_MODELLED),
    ("mpiio.", NOT_MODELLED),
    ("aio.", OTHER_INTERFACE),
    ("cephfs.", OTHER_INTERFACE),
    ("dfs.", OTHER_INTERFACE),
    ("hdf5.", OTHER_INTERFACE),
    ("hdfs.", OTHER_INTERFACE),
    ("mmap.", OTHER_INTERFACE),
    ("ncmpi.", OTHER_INTERFACE),
    ("pmdk.", OTHER_INTERFACE),
    ("rados.", OTHER_INTERFACE),
    ("S3", OTHER_INTERFACE),
];

const GRAMMAR: Grammar<IorParams> = Grammar {
    command: "ior",
    example: "-w -r -t 1m -b 16m",
    flags: FLAGS,
    long: LONG,
    unsupported: UNSUPPORTED,
    directives: Some(('O', BY_NAME)),
};

/// Parses the arguments of `ior`, with or without the command before them.
///
/// # Errors
/// Those of [`Grammar::parse`].
pub(super) fn parse(text: &str) -> Result<CommandLine<IorParams>, String> {
    GRAMMAR.parse(text)
}

fn seconds(text: &str) -> Result<Time, String> {
    let number: u32 = text
        .parse()
        .map_err(|_| format!("{text:?} is not a whole number of seconds"))?;
    Ok(Time::from_seconds(f64::from(number)))
}

fn flag(text: &str) -> Result<bool, String> {
    match text {
        "1" => Ok(true),
        "0" => Ok(false),
        _ => Err(format!("{text:?}: expected 0 or 1")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_units::Bytes;

    fn error(text: &str) -> String {
        parse(text).err().unwrap_or_else(|| panic!("{text} is right"))
    }

    #[test]
    fn a_command_line_is_read_as_ior_reads_it() {
        let line = parse("-w -r -t 1m -b 16m -s 4 -F").unwrap();
        let expected = IorParams {
            write_file: Filled::new(true),
            read_file: Filled::new(true),
            transfer_size: Bytes::mib(1),
            block_size: Bytes::mib(16),
            segment_count: 4,
            file_per_proc: true,
            ..IorParams::default()
        };
        assert_eq!(line.params, expected);
        assert!(line.without_effect.is_empty());
        // Combined switches, arguments without a space, the command itself, upper-case sizes.
        for same in [
            "ior -wrF -t1m -b16m -s4",
            "/usr/bin/ior -F -w -r -t 1M -b 16M -s 4",
            "-wrFs4 -t 1048576 -b=16384k",
            "-O transferSize=1m,blocksize=16m,segmentCount=4,filePerProc=1,readFile=1,writeFile=1",
        ] {
            assert_eq!(parse(same).unwrap().params, expected, "{same}");
        }
        let line = parse("-a mpiio -c -C -Q 2 -Z -X -3 -d 5 -D 60 -e -Y -g -i 3 -m -k -W -R -z -N 8").unwrap();
        let p = line.params;
        assert_eq!((p.api, p.collective, p.reorder_tasks), (IorApi::Mpiio, true, true));
        assert_eq!((p.task_per_node_offset, p.reorder_tasks_random_seed), (2, -3));
        assert_eq!(p.inter_test_delay, Time::from_seconds(5.0));
        assert_eq!(p.deadline_for_stonewalling, Time::from_seconds(60.0));
        assert!(p.fsync && p.fsync_per_write && p.intra_test_barriers && p.multi_file && p.keep_file);
        assert!(p.check_write && p.check_read && p.random_offset && p.reorder_tasks_random);
        assert_eq!((p.repetitions, p.num_tasks.given()), (3, Some(&8)));
    }

    #[test]
    fn flags_without_effect_are_named_with_the_reason() {
        let line = parse("-w -o \"/lustre/my file\" -vv -B -l timestamp -O summaryFormat=json").unwrap();
        assert_eq!(
            line.without_effect,
            [
                "-v (verbose: it concerns IOR's output only)",
                "-v (verbose: it concerns IOR's output only)",
                "-B (useO_DIRECT: nodes have no page cache)",
                "-l (dataPacketType: simulated data has no content)",
                "-O (summaryFormat: it concerns IOR's output only)",
            ]
        );
    }

    #[test]
    fn every_name_of_ior_is_known() {
        // The names of `src/parse_options.c` in releases 3.0.1, 3.3.0 and 4.0.0.
        let names = "allocateBufferOnGPU api beegfsChunkSize beegfsNumTargets blocksize checkread checkwrite collective \
            dataPacketType deadlineforstonewalling debug dualmount fileperproc fsync fsyncperwrite gpfshintaccess \
            gpfsreleasetoken GPUDirect GPUid hintsfilename individualdatasets interiodelay intertestdelay \
            intraTestBarriers keepfile keepfilewitherror lustreignorelocks lustrestartost lustrestripecount \
            lustrestripesize maxtimeduration memoryPerNode memoryPerTask mintimeduration multiFile nodes nofill \
            numnodes numtasks numtasksonnode0 outlierthreshold platform preallocate quitonerror randomoffset readfile \
            refnum reordertasks reordertasksconstant reordertasksrandom reordertasksrandomSeed repetitions \
            saveRankPerformanceDetailsCSV segmentcount setalignment settimestampsignature showhelp showhints \
            singlexferattempt stoneWallingStatusFile stoneWallingWearOut stoneWallingWearOutIterations \
            storefileoffset summaryalways summaryFile summaryFormat taskpernodeoffset testfile transfersize uniqueDir \
            useexistingtestfile usefileview useo_direct usesharedfilepointer usestrideddatatype verbose \
            warningAsErrors writefile";
        for name in names.split_whitespace() {
            let message = parse(&format!("-O {name}=1")).err().unwrap_or_default();
            assert!(!message.contains("has no parameter of this name"), "{message}");
        }
        let line = parse("-w --posix.odirect --random-offset-seed 7 --collective").unwrap();
        assert_eq!(
            (line.params.random_seed.given(), line.params.collective),
            (Some(&7), true)
        );
    }

    #[test]
    fn errors_name_their_cause() {
        assert!(error("-w -L").ends_with("did you mean -l (dataPacketType)?"));
        assert!(error("-w -ö").starts_with("\"-ö\" is not a flag of ior: expected one of -aAbB"));
        assert!(error("--transferSize=1m").ends_with("did you mean -t (transferSize)?"));
        assert!(error("--segments=4").ends_with("did you mean -s (segmentCount)?"));
        assert!(error("-O blokSize=1m").ends_with("did you mean blockSize?"));
        assert_eq!(error("-w -t"), "-t has no argument: the command line ends");
        assert!(error("-t 1q").starts_with("-t (transferSize): \"1q\" is not a size"));
        assert!(error("-t 99999999t").starts_with("-t (transferSize): \"99999999t\" is not a size"));
        assert!(error("-a HDF5").contains("expected POSIX or MPIIO"));
        assert!(error("-f tests.ior").contains("workload = [{ ior"));
        assert!(error("-w 4").contains("\"4\" is not a flag, and the flag before it takes no argument"));
        assert!(error("mdtest -n 4").starts_with("\"mdtest\" is not a flag"));
        assert!(error("-o \"file").contains("is not closed"));
        assert!(error("-O wearout").contains("expected name=value"));
        assert_eq!(
            error("-O minTimeDuration=3"),
            "-O (minTimeDuration) is not supported: it is not modeled: expected more segments, -s"
        );
        assert_eq!(
            error("--posix.lustre.stripecount=4"),
            "--posix.lustre.stripecount is not supported: storage.layout places files"
        );
        assert!(error("--dfs.pool=x").contains("not supported: it belongs to an interface that is not modeled"));
        assert!(error("--randomPrefill 2m").contains("not supported"));
        assert!(error("--collective=1").contains("takes no argument"));
        assert!(error("-w --random-offset-seed").contains("the command line ends"));
        assert!(error("-O filePerProc=yes").contains("expected 0 or 1"));
        assert!(error("-d 1.5").contains("whole number of seconds"));
        assert!(error(&"-w ".repeat(40_000)).contains("longer"));
    }

    /// Any input gives parameters or an error text: 40,000 lines of flags, arguments and noise.
    #[test]
    fn random_command_lines_are_read_or_refused() {
        let pieces = [
            "-w",
            "-r",
            "-t",
            "1m",
            "-b",
            "16m",
            "-s",
            "4",
            "-",
            "--",
            "-F",
            "-O",
            "api=MPIIO",
            "transferSize=",
            "=",
            ",",
            "\"",
            "'",
            "-wrFt1k",
            "99999999999999999999",
            "-1",
            "ö",
            "-ö",
            "\u{0}",
            "18446744073709551615t",
            "-a",
            "posix",
            "ior",
            " ",
            "-D",
            "-Q",
            "-X",
            "-N",
        ];
        let mut draws = odonata_units::SplitMix64(17);
        let (mut read, mut refused) = (0, 0);
        for _ in 0..40_000 {
            let count = draws.next_u64() % 9;
            let line: Vec<&str> = (0..count)
                .map(|_| pieces[(draws.next_u64() % pieces.len() as u64) as usize])
                .collect();
            let glue = if draws.next_u64().is_multiple_of(4) { "" } else { " " };
            match parse(&line.join(glue)) {
                Ok(_) => read += 1,
                Err(why) => {
                    assert!(!why.is_empty());
                    refused += 1;
                }
            }
        }
        assert!(read > 1_000 && refused > 1_000, "{read} {refused}");
    }
}
