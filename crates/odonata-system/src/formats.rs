//! The trace formats that jobs, and the commands for traces, read.

use odonata_dumpi::Dumpi;
use odonata_goal::Goal;
use odonata_program_file::ProgramFolder;
use odonata_trace_format::Formats;

/// Every format, in the order in which they are tried.
pub static FORMATS: Formats = Formats(&[&ProgramFolder, &Goal, &Dumpi]);
