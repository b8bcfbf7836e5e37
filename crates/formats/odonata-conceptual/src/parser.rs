//! The parser: recursive descent over the tokens, with several errors per text.
//!
//! After an error it resumes after the next period, or at the next top-level statement. Nesting is bounded
//! ([`MOST_DEPTH`]), so no text overflows the stack here or in later walks of the tree.
//!
//! The [`Parser`] has the position and the errors. Each rule of the grammar is a function of it, in a file by what it
//! describes.

mod expression;
mod flow;
mod local;
mod message;
mod report;
mod statement;

use super::ast::{Header, Program, Stmt, Tasks, TasksKind, Word};
use super::diagnostic::{Diagnostic, Span};
use super::keyword::{nearest, nearest_keyword};
use super::lexer::{Tok, Token};
use expression::{cond, expr, ranges};
use statement::statement;

/// Maximum nesting of statements, parentheses and operands.
pub(super) const MOST_DEPTH: u16 = 64;
/// Longest chain of operators of one level (`1+1+...`), whose tree is as deep.
pub(super) const MOST_CHAIN: u16 = 200;
/// Maximum number of errors that are reported.
const MOST_ERRORS: usize = 20;

/// An error has been reported; the statement cannot be parsed.
pub(super) struct Stop;
pub(super) type Parsed<T> = Result<T, Stop>;

/// The position in the tokens of a text, and the errors found.
pub(super) struct Parser {
    tokens: Vec<Token>,
    at: usize,
    /// The closing token of each `(`, `{`, `[`.
    closes: Vec<u32>,
    depth: u16,
    errors: Vec<Diagnostic>,
}

/// Parses `tokens`, which end with [`Tok::End`].
pub(super) fn parse(tokens: Vec<Token>) -> (Program, Vec<Diagnostic>) {
    let mut closes = vec![u32::MAX; tokens.len()];
    let mut open = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        match token.tok {
            Tok::Sign("(" | "{" | "[") => open.push(index),
            Tok::Sign(")" | "}" | "]") => {
                if let Some(first) = open.pop() {
                    closes[first] = index as u32;
                }
            }
            _ => {}
        }
    }
    let mut parser = Parser {
        tokens,
        at: 0,
        closes,
        depth: 0,
        errors: Vec::new(),
    };
    let program = program(&mut parser);
    (program, parser.errors)
}

impl Parser {
    fn tok(&self) -> &Tok {
        &self.tokens[self.at].tok
    }

    /// The token `ahead` of the current one; the end token beyond the end.
    fn peek(&self, ahead: usize) -> &Tok {
        &self.tokens[(self.at + ahead).min(self.tokens.len() - 1)].tok
    }

    fn span(&self) -> Span {
        self.tokens[self.at].span
    }

    fn previous(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    fn advance(&mut self) {
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
    }

    fn is(&self, word: &str) -> bool {
        matches!(self.tok(), Tok::Word(other) if *other == word)
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(self.tok(), Tok::Sign(other) if *other == sign)
    }

    fn is_name(&self, names: &[&str]) -> bool {
        matches!(self.tok(), Tok::Name(name) if names.contains(&name.as_str()))
    }

    /// Takes keyword `word` if it comes next.
    fn eat(&mut self, word: &str) -> bool {
        let found = self.is(word);
        if found {
            self.advance();
        }
        found
    }

    fn eat_sign(&mut self, sign: &str) -> bool {
        let found = self.is_sign(sign);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, word: &str) -> Parsed<()> {
        if self.eat(word) {
            return Ok(());
        }
        self.unexpected(&word.to_uppercase())
    }

    fn expect_sign(&mut self, sign: &str) -> Parsed<()> {
        if self.eat_sign(sign) {
            return Ok(());
        }
        self.unexpected(&format!("{sign:?}"))
    }

    fn report(&mut self, reason: &'static str, message: String, span: Span, hint: Option<String>) -> Stop {
        if self.errors.len() < MOST_ERRORS {
            self.errors.push(Diagnostic {
                reason,
                message,
                span,
                hint,
            });
        }
        Stop
    }

    /// Reports that another token was `expected` here.
    fn unexpected<T>(&mut self, expected: &str) -> Parsed<T> {
        let seen = match self.tok() {
            Tok::Word(word) => format!("keyword {}", word.to_uppercase()),
            Tok::Name(name) => format!("{name:?}"),
            Tok::Int(value) => format!("number {value}"),
            Tok::Text(_) => "a string".into(),
            Tok::Sign(sign) => format!("{sign:?}"),
            Tok::End => "the end of the program".into(),
        };
        let hint = match self.tok() {
            // The expected keyword takes precedence over all others.
            Tok::Name(name) => nearest(name, [expected.to_lowercase().as_str()])
                .map(str::to_owned)
                .or_else(|| nearest_keyword(name).map(str::to_owned))
                .filter(|near| near != name)
                .map(|near| format!("did you mean the keyword {}?", near.to_uppercase())),
            _ => None,
        };
        let span = self.span();
        Err(self.report(
            "syntax error",
            format!("{seen} where {expected} is expected"),
            span,
            hint,
        ))
    }

    /// Runs `parse` one level deeper.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MOST_DEPTH {
            let span = self.span();
            return Err(self.report(
                "nested too deeply",
                format!("nested more than {MOST_DEPTH} levels deep"),
                span,
                None,
            ));
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    /// An identifier that is declared here.
    fn declared(&mut self) -> Parsed<Word> {
        let span = self.span();
        match self.tok() {
            Tok::Name(name) => {
                let text = name.clone();
                self.advance();
                Ok(Word { text, span })
            }
            Tok::Word(word) => {
                let message = format!("{} is a keyword and cannot name a variable", word.to_uppercase());
                Err(self.report("keyword used as a variable", message, span, None))
            }
            _ => self.unexpected("the name of a variable"),
        }
    }

    fn text(&mut self) -> Parsed<Word> {
        let span = self.span();
        match self.tok() {
            Tok::Text(text) => {
                let text = text.clone();
                self.advance();
                Ok(Word { text, span })
            }
            _ => self.unexpected("a string"),
        }
    }

    /// Resumes after the next top-level period, at least one token after `start`.
    fn recover(&mut self, start: usize) {
        if self.at == start {
            self.advance();
        }
        while !matches!(self.tok(), Tok::End | Tok::Sign(".")) {
            self.advance();
        }
    }

    /// Whether this parenthesis holds a condition rather than an expression: whether it contains a relation outside of
    /// inner brackets and of the middle of an IF expression.
    fn holds_condition(&self) -> bool {
        let mut open = self.at;
        // Directly nested parentheses count as one.
        loop {
            let close = self.closes[open];
            if close == u32::MAX {
                return false;
            }
            let mut at = open + 1;
            let mut arms = 0;
            while at < close as usize {
                match self.tokens[at].tok {
                    Tok::Sign("(" | "{" | "[") => {
                        if self.closes[at] == u32::MAX {
                            return false;
                        }
                        at = self.closes[at] as usize;
                    }
                    Tok::Word("if") => arms += 1,
                    Tok::Word("otherwise") => arms -= 1,
                    Tok::Sign("=" | "<" | ">" | "<=" | ">=" | "<>" | "/\\" | "\\/") | Tok::Word("divides" | "is")
                        if arms == 0 =>
                    {
                        return true;
                    }
                    _ => {}
                }
                at += 1;
            }
            let inner = open + 1;
            if matches!(self.tokens[inner].tok, Tok::Sign("(")) && self.closes[inner] == close - 1 {
                open = inner;
            } else {
                return false;
            }
        }
    }

    fn word(&self) -> &'static str {
        match self.tok() {
            Tok::Word(word) => word,
            _ => "",
        }
    }
}

fn program(parser: &mut Parser) -> Program {
    let mut program = Program {
        headers: Vec::new(),
        statements: Vec::new(),
    };
    while *parser.tok() != Tok::End {
        let start = parser.at;
        let failed = if at_header(parser) {
            let span = parser.span();
            if !program.statements.is_empty() {
                parser.report(
                    "declaration after a statement",
                    "declarations come before all statements".into(),
                    span,
                    None,
                );
            }
            header(parser).map(|header| program.headers.push(header)).is_err()
        } else {
            statements(parser)
                .map(|statements| program.statements.push(statements))
                .is_err()
        };
        if failed {
            parser.recover(start);
        }
        parser.eat_sign(".");
    }
    program
}

fn at_header(parser: &Parser) -> bool {
    match parser.tok() {
        Tok::Word("require") => true,
        Tok::Word("the") => matches!(parser.peek(1), Tok::Word("backend")),
        // A keyword in place of the name is reported there.
        Tok::Name(_) | Tok::Word(_) => {
            matches!(parser.peek(1), Tok::Word("is")) && matches!(parser.peek(2), Tok::Text(_))
        }
        _ => false,
    }
}

fn header(parser: &mut Parser) -> Parsed<Header> {
    if parser.eat("require") {
        parser.expect("language")?;
        parser.expect("version")?;
        return Ok(Header::Version(parser.text()?));
    }
    if parser.eat("the") {
        parser.expect("backend")?;
        parser.expect("declares")?;
        parser.text()?;
        return Ok(Header::Declares);
    }
    let name = parser.declared()?;
    parser.expect("is")?;
    let about = parser.text()?.text;
    for word in ["and", "comes", "from"] {
        parser.expect(word)?;
    }
    let long = parser.text()?;
    parser.expect("or")?;
    let short = parser.text()?;
    parser.expect("with")?;
    parser.expect("default")?;
    let default = expr(parser)?;
    Ok(Header::Param {
        name,
        about,
        long,
        short,
        default,
    })
}

/// Statements separated by THEN.
fn statements(parser: &mut Parser) -> Parsed<Vec<Stmt>> {
    let mut list = vec![statement(parser)?];
    while parser.eat("then") {
        list.push(statement(parser)?);
    }
    Ok(list)
}

/// A set of tasks, as a source or a target; later checks restrict the forms.
fn tasks(parser: &mut Parser) -> Parsed<Tasks> {
    let start = parser.span();
    let kind = if parser.eat("all") {
        if parser.eat("other") {
            parser.expect("task")?;
            TasksKind::AllOther
        } else {
            parser.expect("task")?;
            TasksKind::All(all_variable(parser))
        }
    } else if parser.eat("task") {
        if parser.eat("group") {
            TasksKind::Group(parser.declared()?)
        } else if parser.is_sign("{") {
            TasksKind::Ranges(ranges(parser)?)
        } else if matches!(parser.peek(1), Tok::Word("such")) {
            let name = parser.declared()?;
            parser.expect("such")?;
            parser.expect("that")?;
            TasksKind::Such {
                name,
                cond: cond(parser)?,
            }
        } else {
            TasksKind::One(expr(parser)?)
        }
    } else {
        let hint = match parser.tok() {
            Tok::Name(name) => nearest(name, ["task", "tasks", "all", "for", "let", "if", "assert"])
                .map(|near| format!("did you mean {}?", near.to_uppercase())),
            _ => None,
        };
        parser.unexpected::<()>("a set of tasks (TASK, TASKS, ALL TASKS)").ok();
        if let (Some(hint), Some(error)) = (hint, parser.errors.last_mut()) {
            error.hint = Some(hint);
        }
        return Err(Stop);
    };
    Ok(Tasks {
        kind,
        span: start.to(parser.previous()),
    })
}

/// The variable of ALL TASKS. Verbs of file access are not keywords, so a name is a variable only if no verb
/// precedes the action.
fn all_variable(parser: &mut Parser) -> Option<Word> {
    let Tok::Name(name) = parser.tok() else { return None };
    if statement::io_verb(name).is_some() {
        let verb_follows = match parser.peek(1) {
            Tok::Word(word) => statement::VERBS.contains(word),
            Tok::Name(next) => statement::io_verb(next).is_some() && !matches!(parser.peek(2), Tok::Word(_) | Tok::End),
            _ => false,
        };
        if !verb_follows {
            return None;
        }
    }
    let word = Word {
        text: name.clone(),
        span: parser.span(),
    };
    parser.advance();
    Some(word)
}
