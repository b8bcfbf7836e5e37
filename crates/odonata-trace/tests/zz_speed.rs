mod random_program;
use odonata_trace::{Options, ProgramFile, write};
use odonata_workload::skeletons::{Milc, MilcParams};
use odonata_workload::{Program, operations, Cursor};
use random_program::*;
#[test]
fn speed() {
    for (ranks, iterations) in [(64u32, 2000u32), (4096, 40)] {
        let milc = Milc::new(ranks, MilcParams { iterations, ..MilcParams::default() }).unwrap();
        let f = Folder::new("speed");
        let t = f.0.join("x.program");
        let s = std::time::Instant::now();
        let n = write(&milc, &t, &Options::default(), &mut |_, _| true).unwrap();
        let w = s.elapsed();
        let s = std::time::Instant::now();
        let p = ProgramFile::open(&t, 1.0).unwrap();
        let o = s.elapsed();
        let s = std::time::Instant::now();
        let c: usize = (0..ranks).map(|r| operations(&p, r).count()).sum();
        let r = s.elapsed();
        // side by side
        let s = std::time::Instant::now();
        let mut cs = vec![Cursor::default(); ranks as usize];
        let mut k = 0; let mut more = true;
        while more { more = false; for (r, c) in cs.iter_mut().enumerate() { if p.next(r as u32, c).is_some() { more = true; k += 1; } } }
        let b = s.elapsed();
        let size: u64 = std::fs::read_dir(&t).unwrap().map(|e| e.unwrap().metadata().unwrap().len()).sum();
        println!("{ranks} ranks {n} ops {c} {k}: write {w:?} open {o:?} read {r:?} side {b:?} size {size} rss {}", std::fs::read_to_string("/proc/self/status").unwrap().lines().find(|l| l.starts_with("VmHWM")).unwrap());
    }
}
