//! The lexer: words, numbers, strings and signs.
//!
//! Keywords and identifiers ignore case. A hyphen directly before a keyword is white space, so "4-byte" is two words;
//! `#` starts a comment up to the end of the line.

use super::diagnostic::{Diagnostic, Span};
use super::keyword::keyword;

/// The kind of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Tok {
    /// A keyword, by its canonical name.
    Word(&'static str),
    /// An identifier, in lower case.
    Name(String),
    /// A number, with its multiplier.
    Int(i64),
    /// The contents of a string.
    Text(String),
    /// An operator or bracket.
    Sign(&'static str),
    /// The end of the text.
    End,
}

#[derive(Clone, Debug)]
pub(super) struct Token {
    pub tok: Tok,
    pub span: Span,
}

/// Longer signs first.
const SIGNS: [&str; 26] = [
    "...", "/\\", "\\/", "**", "<<", ">>", "<=", ">=", "<>", ",", ".", "{", "}", "[", "]", "(", ")", "+", "-", "*",
    "/", "&", "|", "=", "<", ">",
];

/// The result of the lexer.
pub(super) struct Lexed {
    /// Ends with [`Tok::End`].
    pub tokens: Vec<Token>,
    pub errors: Vec<Diagnostic>,
    pub warnings: Vec<Diagnostic>,
}

/// Splits `source` into tokens. Never fails: lexical errors are reported and skipped.
pub(super) fn lex(source: &str) -> Lexed {
    let mut lexer = Lexer {
        source,
        at: 0,
        lexed: Lexed {
            tokens: Vec::new(),
            errors: Vec::new(),
            warnings: Vec::new(),
        },
    };
    lexer.run();
    lexer.lexed
}

struct Lexer<'a> {
    source: &'a str,
    at: usize,
    lexed: Lexed,
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

impl Lexer<'_> {
    fn span(&self, start: usize) -> Span {
        Span {
            start: start as u32,
            end: self.at as u32,
        }
    }

    fn push(&mut self, start: usize, tok: Tok) {
        let span = self.span(start);
        self.lexed.tokens.push(Token { tok, span });
    }

    fn error(&mut self, start: usize, reason: &'static str, message: String) {
        let span = self.span(start);
        // A binary file would fill the screen.
        if self.lexed.errors.len() < 20 {
            self.lexed.errors.push(Diagnostic {
                reason,
                message,
                span,
                hint: None,
            });
        }
    }

    /// The letters, digits and underscores from `from` on.
    fn word_at(&self, from: usize) -> &str {
        let rest = &self.source[from..];
        let end = rest.bytes().position(|byte| !is_word(byte)).unwrap_or(rest.len());
        &rest[..end]
    }

    fn run(&mut self) {
        let bytes = self.source.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            let start = self.at;
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => self.at += 1,
                b'#' => {
                    let rest = &self.source[start..];
                    self.at += rest.find('\n').unwrap_or(rest.len());
                }
                b'"' => self.string(),
                b'0'..=b'9' => self.number(),
                b'a'..=b'z' | b'A'..=b'Z' => {
                    let word = self.word_at(start).to_ascii_lowercase();
                    self.at += word.len();
                    self.push(start, keyword(&word).map_or(Tok::Name(word), Tok::Word));
                }
                b'-' if self.before_keyword(start + 1) => self.at += 1,
                _ => match SIGNS.iter().find(|sign| self.source[start..].starts_with(**sign)) {
                    Some(sign) => {
                        self.at += sign.len();
                        self.push(start, Tok::Sign(sign));
                    }
                    None => {
                        let other = self.source[start..].chars().next().unwrap_or(' ');
                        self.at += other.len_utf8();
                        self.error(
                            start,
                            "character outside the language",
                            format!("{other:?} is not part of the language"),
                        );
                    }
                },
            }
        }
        self.push(self.at, Tok::End);
    }

    fn before_keyword(&self, at: usize) -> bool {
        self.source.as_bytes().get(at).is_some_and(u8::is_ascii_alphabetic)
            && keyword(&self.word_at(at).to_ascii_lowercase()).is_some()
    }

    fn string(&mut self) {
        let start = self.at;
        let mut text = String::new();
        let mut chars = self.source[start + 1..].char_indices();
        while let Some((offset, c)) = chars.next() {
            match c {
                '"' => {
                    self.at = start + 1 + offset + 1;
                    self.push(start, Tok::Text(text));
                    return;
                }
                '\\' => match chars.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 't')) => text.push('\t'),
                    Some((_, 'r')) => text.push('\r'),
                    Some((_, c @ ('"' | '\\'))) => text.push(c),
                    Some((_, '\n')) => {}
                    Some((after, c)) => {
                        let at = start + 1 + offset;
                        self.lexed.warnings.push(Diagnostic {
                            reason: "unknown escape",
                            message: format!("unknown escape \\{c} is ignored"),
                            span: Span {
                                start: at as u32,
                                end: (start + 1 + after + c.len_utf8()) as u32,
                            },
                            hint: None,
                        });
                    }
                    None => break,
                },
                c => text.push(c),
            }
        }
        self.at = self.source.len();
        self.error(
            start,
            "string without an end",
            "this string has no closing quotation mark".into(),
        );
    }

    fn number(&mut self) {
        let start = self.at;
        let whole = self.word_at(start).to_ascii_lowercase();
        self.at += whole.len();
        match number(&whole) {
            Some(Ok(value)) => self.push(start, Tok::Int(value)),
            Some(Err(())) => {
                self.error(start, "number too large", format!("{whole} does not fit into 64 bits"));
                self.push(start, Tok::Int(0));
            }
            None => {
                self.error(
                    start,
                    "malformed number",
                    format!(
                        "{whole:?} is not a number: expected digits, then K, M, G, T or E and digits, then st, \
                     nd, rd or th"
                    ),
                );
                self.push(start, Tok::Int(0));
            }
        }
    }
}

/// The value of a lower-case number with multiplier and ordinal suffix; `None` if it is not a number, an error on
/// overflow.
fn number(word: &str) -> Option<Result<i64, ()>> {
    let digits = word
        .bytes()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(word.len());
    let ordinal = |rest: &str| matches!(rest, "" | "st" | "nd" | "rd" | "th");
    let rest = &word[digits..];
    let value = word[..digits].parse::<i64>();
    let scale = if ordinal(rest) {
        Some(1)
    } else if let Some(exponent) = rest.strip_prefix('e') {
        let count = exponent
            .bytes()
            .position(|byte| !byte.is_ascii_digit())
            .unwrap_or(exponent.len());
        if count == 0 || !ordinal(&exponent[count..]) {
            return None;
        }
        exponent[..count]
            .parse()
            .ok()
            .and_then(|power: u32| 10i64.checked_pow(power))
    } else {
        let shift = match rest.as_bytes()[0] {
            b'k' => 10,
            b'm' => 20,
            b'g' => 30,
            b't' => 40,
            _ => return None,
        };
        if !ordinal(&rest[1..]) {
            return None;
        }
        Some(1 << shift)
    };
    let value = match value {
        Ok(0) => return Some(Ok(0)),
        value => value
            .ok()
            .zip(scale)
            .and_then(|(value, scale)| value.checked_mul(scale)),
    };
    Some(value.ok_or(()))
}

/// The value of a number on a command line: as in the language, with a sign.
pub(super) fn signed_number(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let digits = digits.to_ascii_lowercase();
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let value = number(&digits)?.ok()?;
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toks(source: &str) -> Vec<Tok> {
        let lexed = lex(source);
        assert!(lexed.errors.is_empty(), "{:?}", lexed.errors);
        lexed
            .tokens
            .into_iter()
            .map(|token| token.tok)
            .filter(|tok| *tok != Tok::End)
            .collect()
    }

    #[test]
    fn multipliers_are_powers_of_1024_and_e_of_10_and_ordinals_mean_nothing() {
        let ints = |source: &str| {
            toks(source)
                .into_iter()
                .map(|tok| match tok {
                    Tok::Int(value) => value,
                    other => panic!("{other:?}"),
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(
            ints("4K 2m 1G 1T 5E3 21st 12TH 3rd 2Kth 0E99"),
            [4096, 2 << 20, 1 << 30, 1 << 40, 5000, 21, 12, 3, 2048, 0]
        );
        assert_eq!(lex("9E18 10E18").errors.len(), 1);
        assert_eq!(lex("5x 5Kx 5e 3stx").errors.len(), 4);
    }

    #[test]
    fn a_hyphen_before_a_keyword_is_white_space_and_a_minus_otherwise() {
        assert_eq!(toks("4-byte"), [Tok::Int(4), Tok::Word("byte")]);
        assert_eq!(toks("4-x"), [Tok::Int(4), Tok::Sign("-"), Tok::Name("x".into())]);
        assert_eq!(toks("4--byte"), [Tok::Int(4), Tok::Sign("-"), Tok::Word("byte")]);
    }

    #[test]
    fn strings_keep_newlines_and_drop_escaped_ones() {
        assert_eq!(toks("\"a\nb\\\nc\\t\\\"\""), [Tok::Text("a\nbc\t\"".into())]);
        assert_eq!(lex("\"a\\qb\"").warnings.len(), 1);
        assert_eq!(lex("\"open").errors[0].reason, "string without an end");
    }

    #[test]
    fn numbers_of_the_command_line_take_a_sign() {
        assert_eq!(signed_number("-4K"), Some(-4096));
        assert_eq!(signed_number("+7"), Some(7));
        assert_eq!(signed_number("x"), None);
        assert_eq!(signed_number(""), None);
    }
}
