//! Names given by users.

use crate::Problem;

/// Checks that the `name` at `key` fits into titles and tables.
///
/// # Errors
/// It is empty, long, or has control characters.
pub fn check_name(key: &str, name: &str) -> Result<(), Problem> {
    if name.is_empty() || name.len() > 200 || name.chars().any(char::is_control) {
        return Err(Problem::new(
            key,
            "unusable name",
            "1 to 200 bytes without control characters",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short_and_of_one_line() {
        assert!(check_name("k", "3 cycles é").is_ok() && check_name("k", &"a".repeat(200)).is_ok());
        for name in ["", "a\nb", &"a".repeat(201)] {
            assert_eq!(check_name("k", name).unwrap_err().problem, "unusable name");
        }
    }
}
