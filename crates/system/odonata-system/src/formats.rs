//! The trace formats of jobs and trace commands.

use odonata_dumpi::Dumpi;
use odonata_goal::Goal;
use odonata_program_file::ProgramFolder;
use odonata_trace_format::Formats;

/// All formats, in the order of detection.
pub static FORMATS: Formats = Formats(&[&ProgramFolder, &Goal, &Dumpi]);
