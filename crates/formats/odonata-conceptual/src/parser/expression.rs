//! Expressions, conditions and ranges.

use super::super::ast::{Binary, Cond, Dims, Expr, ExprKind, Func, Range, Relation, Unary, Word};
use super::super::diagnostic::Span;
use super::super::lexer::Tok;
use super::{MOST_CHAIN, Parsed, Parser};

/// The functions named by keywords; BITS is a form of BIT.
fn function(word: &str) -> Option<Func> {
    Some(match word {
        "abs" => Func::Abs,
        "min" => Func::Min,
        "max" => Func::Max,
        "bit" => Func::Bits,
        "sqrt" => Func::Sqrt,
        "cbrt" => Func::Cbrt,
        "root" => Func::Root,
        "log10" => Func::Log10,
        "factor10" => Func::Factor10,
        "floor" => Func::Floor,
        "ceiling" => Func::Ceiling,
        "round" => Func::Round,
        "tree_parent" => Func::TreeParent,
        "tree_child" => Func::TreeChild,
        "knomial_parent" => Func::KnomialParent,
        "knomial_child" => Func::KnomialChild,
        "knomial_children" => Func::KnomialChildren,
        "processor_of" => Func::ProcessorOf,
        "task_of" => Func::TaskOf,
        "random_uniform" => Func::RandomUniform,
        "random_gaussian" => Func::RandomGaussian,
        "random_poisson" => Func::RandomPoisson,
        "random_pareto" => Func::RandomPareto,
        _ => return None,
    })
}

impl Parser {
    fn node(&mut self, start: Span, depth: u16, kind: ExprKind) -> Parsed<Expr> {
        let span = start.to(self.previous());
        if depth > MOST_CHAIN {
            return Err(self.report(
                "nested too deeply",
                format!("more than {MOST_CHAIN} operations in one expression"),
                span,
                None,
            ));
        }
        Ok(Expr { kind, span, depth })
    }

    /// Whether an expression can begin here.
    pub(super) fn at_expr(&self) -> bool {
        match self.tok() {
            Tok::Int(_) | Tok::Name(_) | Tok::Sign("(" | "-" | "+") => true,
            Tok::Word("my" | "not" | "real" | "file_data" | "static_file_data") => true,
            Tok::Word("mesh_neighbor" | "mesh_coordinate" | "mesh_distance") => true,
            Tok::Word(word) => function(word).is_some() && matches!(self.peek(1), Tok::Sign("(")),
            _ => false,
        }
    }

    pub(in super::super) fn expr(&mut self) -> Parsed<Expr> {
        self.nested(|parser| {
            let start = parser.span();
            let value = parser.sum()?;
            if !parser.eat("if") {
                return Ok(value);
            }
            let cond = parser.cond()?;
            parser.expect("otherwise")?;
            let no = parser.expr()?;
            let depth = value.depth.max(no.depth) + 1;
            let kind = ExprKind::If {
                cond: Box::new(cond),
                yes: Box::new(value),
                no: Box::new(no),
            };
            parser.node(start, depth, kind)
        })
    }

    fn sum(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let mut left = self.product()?;
        loop {
            let operator = match self.tok() {
                Tok::Sign("+") => Binary::Add,
                Tok::Sign("-") => Binary::Sub,
                Tok::Sign("|") => Binary::Or,
                Tok::Word("xor") => Binary::Xor,
                _ => return Ok(left),
            };
            self.advance();
            let right = self.product()?;
            left = self.binary(start, operator, left, right)?;
        }
    }

    fn product(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let mut left = self.unary()?;
        loop {
            let operator = match self.tok() {
                Tok::Sign("*") if !self.wraps() => Binary::Mul,
                Tok::Sign("/") => Binary::Div,
                Tok::Sign("<<") => Binary::Left,
                Tok::Sign(">>") => Binary::Right,
                Tok::Sign("&") => Binary::And,
                Tok::Word("mod") => Binary::Mod,
                _ => return Ok(left),
            };
            self.advance();
            let right = self.unary()?;
            left = self.binary(start, operator, left, right)?;
        }
    }

    /// Whether this star marks a dimension that wraps around.
    fn wraps(&self) -> bool {
        matches!(self.peek(1), Tok::Sign("," | ")"))
    }

    fn binary(&mut self, start: Span, operator: Binary, left: Expr, right: Expr) -> Parsed<Expr> {
        let depth = left.depth.max(right.depth) + 1;
        self.node(
            start,
            depth,
            ExprKind::Binary(operator, Box::new(left), Box::new(right)),
        )
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let operator = match self.tok() {
            Tok::Sign("-") => Some(Unary::Minus),
            Tok::Word("not") => Some(Unary::Not),
            Tok::Sign("+") => None,
            _ => return self.power(),
        };
        self.advance();
        let operand = self.nested(Self::unary)?;
        match operator {
            None => Ok(operand),
            Some(operator) => {
                let depth = operand.depth + 1;
                self.node(start, depth, ExprKind::Unary(operator, Box::new(operand)))
            }
        }
    }

    fn power(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let base = self.atom()?;
        if !self.eat_sign("**") {
            return Ok(base);
        }
        let exponent = self.nested(Self::unary)?;
        self.binary(start, Binary::Power, base, exponent)
    }

    fn atom(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let tok = self.tok().clone();
        match tok {
            Tok::Int(value) => {
                self.advance();
                self.node(start, 0, ExprKind::Int(value))
            }
            Tok::Name(name) => {
                self.advance();
                self.node(start, 0, ExprKind::Name(name))
            }
            Tok::Sign("(") => {
                self.advance();
                let inner = self.expr()?;
                if self.is("such") {
                    let span = start.to(self.span());
                    return Err(self.report(
                        "parentheses around a restricted identifier",
                        "no parentheses around a variable with SUCH THAT".into(),
                        span,
                        Some("write TASKS v SUCH THAT condition".into()),
                    ));
                }
                self.expect_sign(")")?;
                Ok(inner)
            }
            Tok::Word("my") => {
                self.advance();
                self.expect("task")?;
                self.node(start, 0, ExprKind::MyTask)
            }
            Tok::Word("real") => {
                self.advance();
                self.expect_sign("(")?;
                let inner = self.expr()?;
                self.expect_sign(")")?;
                let depth = inner.depth + 1;
                self.node(start, depth, ExprKind::Real(Box::new(inner)))
            }
            Tok::Word("mesh_neighbor") => {
                self.advance();
                self.expect_sign("(")?;
                let dims = self.dims()?;
                self.expect_sign(",")?;
                let task = Box::new(self.expr()?);
                self.expect_sign(",")?;
                self.expect_sign("(")?;
                let offsets = self.exprs()?;
                self.expect_sign(")")?;
                self.expect_sign(")")?;
                let depth = deepest(dims.iter().map(|(dim, _)| dim).chain(&offsets).chain([&*task]));
                self.node(start, depth, ExprKind::MeshNeighbor { dims, task, offsets })
            }
            Tok::Word(word @ ("mesh_coordinate" | "mesh_distance")) => {
                self.advance();
                self.expect_sign("(")?;
                let dims = self.dims()?;
                self.expect_sign(",")?;
                let first = Box::new(self.expr()?);
                self.expect_sign(",")?;
                let second = Box::new(self.expr()?);
                self.expect_sign(")")?;
                let depth = deepest(dims.iter().map(|(dim, _)| dim).chain([&*first, &*second]));
                let kind = if word == "mesh_coordinate" {
                    ExprKind::MeshCoordinate {
                        dims,
                        task: first,
                        axis: second,
                    }
                } else {
                    ExprKind::MeshDistance {
                        dims,
                        from: first,
                        to: second,
                    }
                };
                self.node(start, depth, kind)
            }
            Tok::Word("file_data" | "static_file_data") => {
                self.advance();
                self.file_data(start)
            }
            Tok::Word(word) if function(word).is_some() && matches!(self.peek(1), Tok::Sign("(")) => {
                let function = function(word).unwrap_or(Func::Abs);
                self.advance();
                self.advance();
                let args = self.exprs()?;
                self.expect_sign(")")?;
                let (name, fewest, most) = function.signature();
                if args.len() < fewest || args.len() > most {
                    let span = start.to(self.previous());
                    let wanted = match most {
                        usize::MAX => format!("{fewest} or more"),
                        _ if fewest == most => format!("{fewest}"),
                        _ => format!("{fewest} to {most}"),
                    };
                    return Err(self.report(
                        "wrong number of arguments",
                        format!(
                            "{} has {} arguments: expected {wanted}",
                            name.to_uppercase(),
                            args.len()
                        ),
                        span,
                        None,
                    ));
                }
                let depth = deepest(&args);
                self.node(start, depth, ExprKind::Call(function, args))
            }
            _ => self.unexpected("an expression"),
        }
    }

    fn file_data(&mut self, start: Span) -> Parsed<Expr> {
        self.expect_sign("(")?;
        let file = self.text()?;
        let mut column = None;
        let mut row = None;
        let mut separators = Vec::new();
        if self.eat_sign(",") {
            column = Some(Box::new(self.expr()?));
            if self.eat_sign(",") {
                row = Some(Box::new(self.expr()?));
                while separators.len() < 2 && self.eat_sign(",") {
                    separators.push(self.text()?.text);
                }
            }
        }
        self.expect_sign(")")?;
        let depth = deepest(column.iter().chain(&row).map(|expr| &**expr));
        let kind = ExprKind::FileData {
            file,
            column,
            row,
            separators,
        };
        self.node(start, depth, kind)
    }

    pub(super) fn exprs(&mut self) -> Parsed<Vec<Expr>> {
        let mut list = vec![self.expr()?];
        while self.eat_sign(",") {
            list.push(self.expr()?);
        }
        Ok(list)
    }

    fn dims(&mut self) -> Parsed<Dims> {
        let start = self.span();
        self.expect_sign("(")?;
        let mut dims = Vec::new();
        loop {
            let extent = self.expr()?;
            dims.push((extent, self.eat_sign("*")));
            if !self.eat_sign(",") {
                break;
            }
        }
        self.expect_sign(")")?;
        if dims.len() > 3 {
            let span = start.to(self.previous());
            return Err(self.report(
                "wrong number of arguments",
                format!("a mesh of {} dimensions: expected 1 to 3", dims.len()),
                span,
                None,
            ));
        }
        Ok(dims)
    }

    pub(super) fn cond(&mut self) -> Parsed<Cond> {
        self.nested(|parser| {
            let mut left = parser.conjunction()?;
            let mut count = 0;
            while parser.eat_sign("\\/") {
                parser.link(&mut count)?;
                let right = parser.conjunction()?;
                left = Cond::Or(Box::new(left), Box::new(right));
            }
            Ok(left)
        })
    }

    fn link(&mut self, count: &mut u16) -> Parsed<()> {
        *count += 1;
        if *count > MOST_CHAIN {
            let span = self.span();
            return Err(self.report(
                "nested too deeply",
                format!("more than {MOST_CHAIN} conditions in a row"),
                span,
                None,
            ));
        }
        Ok(())
    }

    fn conjunction(&mut self) -> Parsed<Cond> {
        let mut left = self.primary()?;
        let mut count = 0;
        while self.eat_sign("/\\") {
            self.link(&mut count)?;
            let right = self.primary()?;
            left = Cond::And(Box::new(left), Box::new(right));
        }
        Ok(left)
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

    fn primary(&mut self) -> Parsed<Cond> {
        if self.is_sign("(") && self.holds_condition() {
            self.advance();
            let inner = self.cond()?;
            self.expect_sign(")")?;
            return Ok(inner);
        }
        let left = self.expr()?;
        let relation = match self.tok() {
            Tok::Sign("=") => Relation::Equal,
            Tok::Sign("<") => Relation::Less,
            Tok::Sign(">") => Relation::Greater,
            Tok::Sign("<=") => Relation::LessEqual,
            Tok::Sign(">=") => Relation::GreaterEqual,
            Tok::Sign("<>") => Relation::NotEqual,
            Tok::Word("divides") => Relation::Divides,
            Tok::Word("is") => {
                self.advance();
                return self.property(left);
            }
            _ => return self.unexpected("a relation (=, <, >, <=, >=, <>, DIVIDES, IS)"),
        };
        self.advance();
        Ok(Cond::Relation(relation, left, self.expr()?))
    }

    /// What follows IS.
    fn property(&mut self, value: Expr) -> Parsed<Cond> {
        if self.eat("even") {
            return Ok(Cond::Parity { value, odd: false });
        }
        if self.eat("odd") {
            return Ok(Cond::Parity { value, odd: true });
        }
        let not = self.eat("not");
        if !self.eat("in") {
            return self.unexpected("EVEN, ODD, IN or NOT IN");
        }
        if self.eat_sign("[") {
            let low = self.expr()?;
            self.expect_sign(",")?;
            let high = self.expr()?;
            self.expect_sign("]")?;
            return Ok(Cond::Between { value, low, high, not });
        }
        let ranges = self.ranges()?;
        Ok(Cond::InRanges { value, ranges, not })
    }

    pub(super) fn ranges(&mut self) -> Parsed<Vec<Range>> {
        self.nested(|parser| {
            let mut ranges = vec![parser.range()?];
            while parser.is_sign(",") && matches!(parser.peek(1), Tok::Sign("{")) {
                parser.advance();
                ranges.push(parser.range()?);
            }
            Ok(ranges)
        })
    }

    fn range(&mut self) -> Parsed<Range> {
        self.expect_sign("{")?;
        let first = self.expr()?;
        if self.is("for") {
            let mut generators = Vec::new();
            while self.eat("for") {
                self.expect("each")?;
                let name: Word = self.declared()?;
                self.expect("in")?;
                generators.push((name, self.ranges()?));
            }
            let cond = if self.eat("where") { Some(self.cond()?) } else { None };
            self.expect_sign("}")?;
            return Ok(Range::Each {
                value: first,
                generators,
                cond,
            });
        }
        let mut items = vec![first];
        let mut end = None;
        while self.eat_sign(",") {
            if self.eat_sign("...") {
                self.expect_sign(",")?;
                end = Some(self.expr()?);
                break;
            }
            items.push(self.expr()?);
        }
        self.expect_sign("}")?;
        Ok(Range::List { items, end })
    }
}

fn deepest<'a>(exprs: impl IntoIterator<Item = &'a Expr>) -> u16 {
    exprs.into_iter().map(|expr| expr.depth).max().unwrap_or(0) + 1
}
