//! Formatting of a program's text: indentation, spaces, case of keywords.
//!
//! Line breaks, comments, names, numbers and strings are kept. A line is indented by its open brackets, and by one more
//! step if it continues a statement.

use super::diagnostic::{Diagnostic, Diagnostics, Span};
use super::lexer::{Tok, Token, lex};
use super::parser::MOST_DEPTH;
use super::{MOST_TEXT, too_long};

/// `source`, the text of `file`, in the common layout. The tokens stay the same, and formatting is idempotent.
///
/// # Errors
/// The text has a lexical error, such as an unterminated string. The program is not checked further.
pub fn format(file: &str, source: &str) -> Result<String, Diagnostics> {
    let failed = |errors| Diagnostics {
        file: file.into(),
        source: source.into(),
        errors,
    };
    if source.len() > MOST_TEXT {
        return Err(failed(vec![too_long(source.len())]));
    }
    let lexed = lex(source);
    if !lexed.errors.is_empty() {
        return Err(failed(lexed.errors));
    }
    let mut layout = Layout {
        before: BEGIN,
        ..Layout::default()
    };
    let mut end = 0;
    for token in &lexed.tokens {
        let (start, next) = (token.span.start as usize, token.span.end as usize);
        layout.gap(&source[end..start]);
        layout.token(token, &source[start..next]);
        end = next;
    }
    let text = layout.out.trim_end().to_owned() + "\n";
    // Without spaces, characters could join, as three periods do.
    let again = lex(&text);
    let tokens = lexed.tokens.iter().map(|token| &token.tok);
    if again.tokens.iter().map(|token| &token.tok).eq(tokens) {
        return Ok(text);
    }
    Err(failed(vec![Diagnostic {
        reason: "characters without a layout",
        message: "characters of this text would change their meaning in the common layout".into(),
        span: Span::default(),
        hint: None,
    }]))
}

/// The token before the first one.
const BEGIN: &str = "begin";

#[derive(Default)]
struct Layout {
    out: String,
    /// Number of open brackets.
    depth: usize,
    /// The current line continues the previous one.
    goes_on: bool,
    /// The previous token, if it is a sign.
    before: &'static str,
    /// The text between it and the next token of its line.
    between: &'static str,
}

impl Layout {
    /// The indentation of a new line.
    fn indent(&mut self) {
        let steps = self.depth.min(MOST_DEPTH.into()) + usize::from(self.goes_on);
        self.out.extend(std::iter::repeat_n("  ", steps));
    }

    fn at_start(&self) -> bool {
        self.out.is_empty() || self.out.ends_with('\n')
    }

    /// White space and comments.
    fn gap(&mut self, gap: &str) {
        // A hyphen before a keyword counts as space.
        self.between = match gap {
            "" | "-" if self.before == "," => " ",
            "" => "",
            "-" => "-",
            _ => " ",
        };
        for (number, line) in gap.split('\n').enumerate() {
            // At most one blank line, and none at the beginning.
            if number > 0 && !self.out.is_empty() && !self.out.ends_with("\n\n") {
                self.out.push('\n');
            }
            if let Some(at) = line.find('#') {
                if self.at_start() {
                    self.indent();
                } else {
                    self.out.push(' ');
                }
                self.out.push_str(line[at..].trim_end());
            }
        }
    }

    fn token(&mut self, token: &Token, text: &str) {
        let sign = match token.tok {
            Tok::Sign(sign) => sign,
            Tok::End => return,
            _ => "",
        };
        if matches!(sign, "}" | "]" | ")") {
            self.depth = self.depth.saturating_sub(1);
            self.goes_on &= sign != "}";
        }
        if self.at_start() {
            self.indent();
        } else if !matches!(self.before, "(" | "[") && !matches!(sign, ")" | "]" | "," | ".") {
            self.out.push_str(self.between);
        }
        match token.tok {
            // A sentence may begin with a capital.
            Tok::Word(_) => {
                let kept = usize::from(self.depth == 0 && matches!(self.before, "." | BEGIN));
                self.out.push_str(&text[..kept]);
                self.out.push_str(&text[kept..].to_ascii_lowercase());
            }
            _ => self.out.push_str(text),
        }
        self.depth += usize::from(matches!(sign, "{" | "[" | "("));
        self.goes_on = !matches!(sign, "{" | "}" | "." | ",") && token.tok != Tok::Word("then");
        self.before = sign;
    }
}

#[cfg(test)]
mod tests {
    use super::{format, lex};
    use crate::lexer::Tok;

    fn tokens(text: &str) -> Vec<Tok> {
        lex(text).tokens.into_iter().map(|token| token.tok).collect()
    }

    #[test]
    fn spaces_indentation_and_keywords_have_one_layout() {
        let text = "\n\n# What it is.  \nFOR  3 Repetitions {\nALL tasks T send a 4-byte message \n to task ( T+1 ) Mod num_tasks \
                    THEN   # on\n\n\n\tif {1 ,2,...,n} = x then {\n all tasks LOG Msgs_Sent as \"A  b\" }\n} .";
        let laid = "# What it is.\nFor 3 repetitions {\n  all tasks T send a 4-byte message\n    to task (T+1) mod num_tasks \
                    then # on\n\n  if {1, 2, ..., n} = x then {\n    all tasks log Msgs_Sent as \"A  b\" }\n}.\n";
        assert_eq!(format("f", text).unwrap(), laid);
        assert_eq!(format("f", "").unwrap(), "\n");
        assert_eq!(format("f", "a \"b").unwrap_err().reason(), "string without an end");
        // Three periods that would become an ellipsis.
        assert_eq!(
            format("f", "a . . .").unwrap_err().reason(),
            "characters without a layout"
        );
    }

    /// The library programs, and the programs with records of the reference implementation.
    #[test]
    fn programs_keep_their_tokens_and_are_formatted_once() {
        let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut seen = 0;
        for folder in ["../../../programs", "../../../examples", "tests/oracle/programs"] {
            let files = std::fs::read_dir(here.join(folder)).unwrap();
            for path in files
                .map(|file| file.unwrap().path())
                .filter(|path| path.extension().is_some_and(|e| e == "ncptl"))
            {
                let text = std::fs::read_to_string(&path).unwrap();
                if !lex(&text).errors.is_empty() {
                    continue;
                }
                let once = format("f", &text).unwrap_or_else(|errors| panic!("{}: {errors}", path.display()));
                assert_eq!(tokens(&once), tokens(&text), "{}", path.display());
                assert_eq!(format("f", &once).unwrap(), once, "{}", path.display());
                let comments = |text: &str| text.lines().filter(|line| line.trim_start().starts_with('#')).count();
                assert_eq!(comments(&once), comments(&text), "{}", path.display());
                seen += 1;
            }
        }
        assert!(seen >= 78, "{seen} programs");
    }
}
