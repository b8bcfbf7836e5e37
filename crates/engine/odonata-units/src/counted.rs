//! Counts in texts.

/// A count with its noun: `1 iteration`, `5 iterations`.
pub fn counted(count: impl Into<u64>, noun: &str) -> String {
    let count = count.into();
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_is_singular() {
        assert_eq!(
            [0u32, 1, 2].map(|n| counted(n, "step")),
            ["0 steps", "1 step", "2 steps"]
        );
    }
}
