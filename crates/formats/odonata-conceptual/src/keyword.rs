//! The words of the language: keywords, their forms, and the nearest keyword to a misspelled word.

/// Keywords with a single form.
const SINGLE: &[&str] = &[
    "abs",
    "absolute",
    "aggregates",
    "aligned",
    "all",
    "and",
    "arithmetic",
    "as",
    "assert",
    "assigned",
    "asynchronously",
    "backend",
    "be",
    "but",
    "cbrt",
    "ceiling",
    "comes",
    "counters",
    "current",
    "data",
    "declares",
    "default",
    "deviation",
    "divides",
    "each",
    "even",
    "factor10",
    "file_data",
    "final",
    "floor",
    "for",
    "from",
    "geometric",
    "gigabyte",
    "greater",
    "group",
    "harmonic",
    "histogram",
    "if",
    "in",
    "into",
    "kilobyte",
    "knomial_child",
    "knomial_children",
    "knomial_parent",
    "language",
    "less",
    "let",
    "log10",
    "max",
    "maximum",
    "mean",
    "median",
    "megabyte",
    "memory",
    "mesh_coordinate",
    "mesh_distance",
    "mesh_neighbor",
    "min",
    "minimum",
    "misaligned",
    "mod",
    "my",
    "nonunique",
    "not",
    "odd",
    "of",
    "or",
    "other",
    "otherwise",
    "percentile",
    "plus",
    "processor_of",
    "random",
    "random_gaussian",
    "random_pareto",
    "random_poisson",
    "random_uniform",
    "real",
    "region",
    "require",
    "root",
    "round",
    "sized",
    "sqrt",
    "standard",
    "static_file_data",
    "stride",
    "such",
    "sum",
    "synchronization",
    "synchronously",
    "tag",
    "task_of",
    "than",
    "that",
    "the",
    "then",
    "to",
    "touching",
    "tree_child",
    "tree_parent",
    "unaligned",
    "unique",
    "unsuspecting",
    "using",
    "value",
    "variance",
    "verification",
    "version",
    "warmup",
    "where",
    "while",
    "who",
    "with",
    "without",
    "xor",
];

/// Keywords with two equivalent forms (singular and plural, or verb forms).
const WITH_S: &[&str] = &[
    "await",
    "bit",
    "buffer",
    "byte",
    "completion",
    "compute",
    "day",
    "doubleword",
    "execute",
    "halfword",
    "hour",
    "integer",
    "log",
    "message",
    "microsecond",
    "millisecond",
    "minute",
    "multicast",
    "output",
    "page",
    "processor",
    "quadword",
    "receive",
    "reduce",
    "repetition",
    "reset",
    "restore",
    "result",
    "second",
    "send",
    "sleep",
    "store",
    "synchronize",
    "task",
    "time",
    "word",
];

/// The canonical name of the keyword `word` (in lower case); `None` for an identifier.
pub(super) fn keyword(word: &str) -> Option<&'static str> {
    match word {
        "a" | "an" => return Some("a"),
        "is" | "are" => return Some("is"),
        "it" | "them" => return Some("it"),
        "its" | "their" => return Some("its"),
        "touch" | "touches" => return Some("touch"),
        _ => {}
    }
    let find = |list: &[&'static str], word: &str| list.iter().copied().find(|&keyword| keyword == word);
    find(SINGLE, word)
        .or_else(|| find(WITH_S, word))
        .or_else(|| find(WITH_S, word.strip_suffix('s')?))
}

/// The variables of every program; all except `num_tasks` differ between tasks.
pub(super) const PREDECLARED: [&str; 9] = [
    "num_tasks",
    "elapsed_usecs",
    "bytes_sent",
    "bytes_received",
    "total_bytes",
    "msgs_sent",
    "msgs_received",
    "total_msgs",
    "bit_errors",
];

/// The nearest of `candidates` to `word` by edit distance, if it is close enough.
pub(super) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > 40 {
        return None;
    }
    let most = match word.len() {
        0..=2 => 0,
        3..=5 => 1,
        _ => 2,
    };
    candidates
        .into_iter()
        .map(|candidate| (strsim::levenshtein(word, candidate), candidate))
        .filter(|&(distance, _)| distance <= most)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// The nearest keyword to `word`.
pub(super) fn nearest_keyword(word: &str) -> Option<&'static str> {
    nearest(word, SINGLE.iter().chain(WITH_S).copied()).map(|near| keyword(near).unwrap_or(near))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_are_one_keyword_and_kilobytes_is_not_a_keyword() {
        for (word, name) in [
            ("messages", "message"),
            ("an", "a"),
            ("touches", "touch"),
            ("repetitions", "repetition"),
        ] {
            assert_eq!(keyword(word), Some(name));
        }
        assert_eq!(keyword("kilobytes"), None);
        assert_eq!(keyword("is"), Some("is"));
        assert_eq!(keyword("sends"), Some("send"));
        assert_eq!(keyword("tags"), None);
    }

    #[test]
    fn a_slip_of_one_letter_finds_its_keyword() {
        assert_eq!(nearest_keyword("mesage"), Some("message"));
        assert_eq!(nearest_keyword("completely_else"), None);
    }
}
