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

fn node(parser: &mut Parser, start: Span, depth: u16, kind: ExprKind) -> Parsed<Expr> {
    let span = start.to(parser.previous());
    if depth > MOST_CHAIN {
        return Err(parser.report(
            "nested too deeply",
            format!("more than {MOST_CHAIN} operations in one expression"),
            span,
            None,
        ));
    }
    Ok(Expr { kind, span, depth })
}

/// Whether an expression can begin here.
pub(super) fn at_expr(parser: &Parser) -> bool {
    match parser.tok() {
        Tok::Int(_) | Tok::Name(_) | Tok::Sign("(" | "-" | "+") => true,
        Tok::Word("my" | "not" | "real" | "file_data" | "static_file_data") => true,
        Tok::Word("mesh_neighbor" | "mesh_coordinate" | "mesh_distance") => true,
        Tok::Word(word) => function(word).is_some() && matches!(parser.peek(1), Tok::Sign("(")),
        _ => false,
    }
}

pub(super) fn expr(parser: &mut Parser) -> Parsed<Expr> {
    parser.nested(|parser| {
        let start = parser.span();
        let value = sum(parser)?;
        if !parser.eat("if") {
            return Ok(value);
        }
        let cond = cond(parser)?;
        parser.expect("otherwise")?;
        let no = expr(parser)?;
        let depth = value.depth.max(no.depth) + 1;
        let kind = ExprKind::If {
            cond: Box::new(cond),
            yes: Box::new(value),
            no: Box::new(no),
        };
        node(parser, start, depth, kind)
    })
}

fn sum(parser: &mut Parser) -> Parsed<Expr> {
    let start = parser.span();
    let mut left = product(parser)?;
    loop {
        let operator = match parser.tok() {
            Tok::Sign("+") => Binary::Add,
            Tok::Sign("-") => Binary::Sub,
            Tok::Sign("|") => Binary::Or,
            Tok::Word("xor") => Binary::Xor,
            _ => return Ok(left),
        };
        parser.advance();
        let right = product(parser)?;
        left = binary(parser, start, operator, left, right)?;
    }
}

fn product(parser: &mut Parser) -> Parsed<Expr> {
    let start = parser.span();
    let mut left = unary(parser)?;
    loop {
        let operator = match parser.tok() {
            Tok::Sign("*") if !wraps(parser) => Binary::Mul,
            Tok::Sign("/") => Binary::Div,
            Tok::Sign("<<") => Binary::Left,
            Tok::Sign(">>") => Binary::Right,
            Tok::Sign("&") => Binary::And,
            Tok::Word("mod") => Binary::Mod,
            _ => return Ok(left),
        };
        parser.advance();
        let right = unary(parser)?;
        left = binary(parser, start, operator, left, right)?;
    }
}

/// Whether this star marks a dimension that wraps around.
fn wraps(parser: &Parser) -> bool {
    matches!(parser.peek(1), Tok::Sign("," | ")"))
}

fn binary(parser: &mut Parser, start: Span, operator: Binary, left: Expr, right: Expr) -> Parsed<Expr> {
    let depth = left.depth.max(right.depth) + 1;
    node(
        parser,
        start,
        depth,
        ExprKind::Binary(operator, Box::new(left), Box::new(right)),
    )
}

fn unary(parser: &mut Parser) -> Parsed<Expr> {
    let start = parser.span();
    let operator = match parser.tok() {
        Tok::Sign("-") => Some(Unary::Minus),
        Tok::Word("not") => Some(Unary::Not),
        Tok::Sign("+") => None,
        _ => return power(parser),
    };
    parser.advance();
    let operand = parser.nested(unary)?;
    match operator {
        None => Ok(operand),
        Some(operator) => {
            let depth = operand.depth + 1;
            node(parser, start, depth, ExprKind::Unary(operator, Box::new(operand)))
        }
    }
}

fn power(parser: &mut Parser) -> Parsed<Expr> {
    let start = parser.span();
    let base = atom(parser)?;
    if !parser.eat_sign("**") {
        return Ok(base);
    }
    let exponent = parser.nested(unary)?;
    binary(parser, start, Binary::Power, base, exponent)
}

fn atom(parser: &mut Parser) -> Parsed<Expr> {
    let start = parser.span();
    let tok = parser.tok().clone();
    match tok {
        Tok::Int(value) => {
            parser.advance();
            node(parser, start, 0, ExprKind::Int(value))
        }
        Tok::Name(name) => {
            parser.advance();
            node(parser, start, 0, ExprKind::Name(name))
        }
        Tok::Sign("(") => {
            parser.advance();
            let inner = expr(parser)?;
            if parser.is("such") {
                let span = start.to(parser.span());
                return Err(parser.report(
                    "parentheses around a restricted identifier",
                    "no parentheses around a variable with SUCH THAT".into(),
                    span,
                    Some("write TASKS v SUCH THAT condition".into()),
                ));
            }
            parser.expect_sign(")")?;
            Ok(inner)
        }
        Tok::Word("my") => {
            parser.advance();
            parser.expect("task")?;
            node(parser, start, 0, ExprKind::MyTask)
        }
        Tok::Word("real") => {
            parser.advance();
            parser.expect_sign("(")?;
            let inner = expr(parser)?;
            parser.expect_sign(")")?;
            let depth = inner.depth + 1;
            node(parser, start, depth, ExprKind::Real(Box::new(inner)))
        }
        Tok::Word("mesh_neighbor") => {
            parser.advance();
            parser.expect_sign("(")?;
            let dims = dims(parser)?;
            parser.expect_sign(",")?;
            let task = Box::new(expr(parser)?);
            parser.expect_sign(",")?;
            parser.expect_sign("(")?;
            let offsets = exprs(parser)?;
            parser.expect_sign(")")?;
            parser.expect_sign(")")?;
            let depth = deepest(dims.iter().map(|(dim, _)| dim).chain(&offsets).chain([&*task]));
            node(parser, start, depth, ExprKind::MeshNeighbor { dims, task, offsets })
        }
        Tok::Word(word @ ("mesh_coordinate" | "mesh_distance")) => {
            parser.advance();
            parser.expect_sign("(")?;
            let dims = dims(parser)?;
            parser.expect_sign(",")?;
            let first = Box::new(expr(parser)?);
            parser.expect_sign(",")?;
            let second = Box::new(expr(parser)?);
            parser.expect_sign(")")?;
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
            node(parser, start, depth, kind)
        }
        Tok::Word("file_data" | "static_file_data") => {
            parser.advance();
            file_data(parser, start)
        }
        Tok::Word(word) if function(word).is_some() && matches!(parser.peek(1), Tok::Sign("(")) => {
            let function = function(word).unwrap_or(Func::Abs);
            parser.advance();
            parser.advance();
            let args = exprs(parser)?;
            parser.expect_sign(")")?;
            let (name, fewest, most) = function.signature();
            if args.len() < fewest || args.len() > most {
                let span = start.to(parser.previous());
                let wanted = match most {
                    usize::MAX => format!("{fewest} or more"),
                    _ if fewest == most => format!("{fewest}"),
                    _ => format!("{fewest} to {most}"),
                };
                return Err(parser.report(
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
            node(parser, start, depth, ExprKind::Call(function, args))
        }
        _ => parser.unexpected("an expression"),
    }
}

fn file_data(parser: &mut Parser, start: Span) -> Parsed<Expr> {
    parser.expect_sign("(")?;
    let file = parser.text()?;
    let mut column = None;
    let mut row = None;
    let mut separators = Vec::new();
    if parser.eat_sign(",") {
        column = Some(Box::new(expr(parser)?));
        if parser.eat_sign(",") {
            row = Some(Box::new(expr(parser)?));
            while separators.len() < 2 && parser.eat_sign(",") {
                separators.push(parser.text()?.text);
            }
        }
    }
    parser.expect_sign(")")?;
    let depth = deepest(column.iter().chain(&row).map(|expr| &**expr));
    let kind = ExprKind::FileData {
        file,
        column,
        row,
        separators,
    };
    node(parser, start, depth, kind)
}

pub(super) fn exprs(parser: &mut Parser) -> Parsed<Vec<Expr>> {
    let mut list = vec![expr(parser)?];
    while parser.eat_sign(",") {
        list.push(expr(parser)?);
    }
    Ok(list)
}

fn dims(parser: &mut Parser) -> Parsed<Dims> {
    let start = parser.span();
    parser.expect_sign("(")?;
    let mut dims = Vec::new();
    loop {
        let extent = expr(parser)?;
        dims.push((extent, parser.eat_sign("*")));
        if !parser.eat_sign(",") {
            break;
        }
    }
    parser.expect_sign(")")?;
    if dims.len() > 3 {
        let span = start.to(parser.previous());
        return Err(parser.report(
            "wrong number of arguments",
            format!("a mesh of {} dimensions: expected 1 to 3", dims.len()),
            span,
            None,
        ));
    }
    Ok(dims)
}

pub(super) fn cond(parser: &mut Parser) -> Parsed<Cond> {
    parser.nested(|parser| {
        let mut left = conjunction(parser)?;
        let mut count = 0;
        while parser.eat_sign("\\/") {
            link(parser, &mut count)?;
            let right = conjunction(parser)?;
            left = Cond::Or(Box::new(left), Box::new(right));
        }
        Ok(left)
    })
}

fn link(parser: &mut Parser, count: &mut u16) -> Parsed<()> {
    *count += 1;
    if *count > MOST_CHAIN {
        let span = parser.span();
        return Err(parser.report(
            "nested too deeply",
            format!("more than {MOST_CHAIN} conditions in a row"),
            span,
            None,
        ));
    }
    Ok(())
}

fn conjunction(parser: &mut Parser) -> Parsed<Cond> {
    let mut left = primary(parser)?;
    let mut count = 0;
    while parser.eat_sign("/\\") {
        link(parser, &mut count)?;
        let right = primary(parser)?;
        left = Cond::And(Box::new(left), Box::new(right));
    }
    Ok(left)
}

fn primary(parser: &mut Parser) -> Parsed<Cond> {
    if parser.is_sign("(") && parser.holds_condition() {
        parser.advance();
        let inner = cond(parser)?;
        parser.expect_sign(")")?;
        return Ok(inner);
    }
    let left = expr(parser)?;
    let relation = match parser.tok() {
        Tok::Sign("=") => Relation::Equal,
        Tok::Sign("<") => Relation::Less,
        Tok::Sign(">") => Relation::Greater,
        Tok::Sign("<=") => Relation::LessEqual,
        Tok::Sign(">=") => Relation::GreaterEqual,
        Tok::Sign("<>") => Relation::NotEqual,
        Tok::Word("divides") => Relation::Divides,
        Tok::Word("is") => {
            parser.advance();
            return property(parser, left);
        }
        _ => return parser.unexpected("a relation (=, <, >, <=, >=, <>, DIVIDES, IS)"),
    };
    parser.advance();
    Ok(Cond::Relation(relation, left, expr(parser)?))
}

/// What follows IS.
fn property(parser: &mut Parser, value: Expr) -> Parsed<Cond> {
    if parser.eat("even") {
        return Ok(Cond::Parity { value, odd: false });
    }
    if parser.eat("odd") {
        return Ok(Cond::Parity { value, odd: true });
    }
    let not = parser.eat("not");
    if !parser.eat("in") {
        return parser.unexpected("EVEN, ODD, IN or NOT IN");
    }
    if parser.eat_sign("[") {
        let low = expr(parser)?;
        parser.expect_sign(",")?;
        let high = expr(parser)?;
        parser.expect_sign("]")?;
        return Ok(Cond::Between { value, low, high, not });
    }
    let ranges = ranges(parser)?;
    Ok(Cond::InRanges { value, ranges, not })
}

pub(super) fn ranges(parser: &mut Parser) -> Parsed<Vec<Range>> {
    parser.nested(|parser| {
        let mut ranges = vec![range(parser)?];
        while parser.is_sign(",") && matches!(parser.peek(1), Tok::Sign("{")) {
            parser.advance();
            ranges.push(range(parser)?);
        }
        Ok(ranges)
    })
}

fn range(parser: &mut Parser) -> Parsed<Range> {
    parser.expect_sign("{")?;
    let first = expr(parser)?;
    if parser.is("for") {
        let mut generators = Vec::new();
        while parser.eat("for") {
            parser.expect("each")?;
            let name: Word = parser.declared()?;
            parser.expect("in")?;
            generators.push((name, ranges(parser)?));
        }
        let cond = if parser.eat("where") { Some(cond(parser)?) } else { None };
        parser.expect_sign("}")?;
        return Ok(Range::Each {
            value: first,
            generators,
            cond,
        });
    }
    let mut items = vec![first];
    let mut end = None;
    while parser.eat_sign(",") {
        if parser.eat_sign("...") {
            parser.expect_sign(",")?;
            end = Some(expr(parser)?);
            break;
        }
        items.push(expr(parser)?);
    }
    parser.expect_sign("}")?;
    Ok(Range::List { items, end })
}

fn deepest<'a>(exprs: impl IntoIterator<Item = &'a Expr>) -> u16 {
    exprs.into_iter().map(|expr| expr.depth).max().unwrap_or(0) + 1
}
