//! The grammar of `partial(…)`: the conditions that servers accept in a partial index.

use syn::spanned::Spanned;
use syn::{BinOp, Expr, Ident, Member};

use crate::{
    diagnostics::Sink,
    model::index::check_first,
    parse::{Field, Parsed, index::FieldPath},
};

/// The filter of a partial index.
pub(crate) enum Partial {
    And(Box<Partial>, Box<Partial>),
    Or(Box<Partial>, Box<Partial>),
    Compare {
        path: FieldPath,
        comparison: Comparison,
        value: Expr,
    },
    /// `field == None`: null or missing.
    Null {
        path: FieldPath,
    },
    Exists {
        path: FieldPath,
        method: Ident,
    },
    /// `type_is` and `is_in`, whose argument is any expression.
    Call {
        path: FieldPath,
        method: Ident,
        argument: Expr,
    },
}

#[derive(Clone, Copy)]
pub(crate) enum Comparison {
    Eq,
    Gt,
    Gte,
    Lt,
    Lte,
}

const ALLOWED: &str = "a partial index allows only `==`, `>`, `>=`, `<`, `<=`, `exists()`, `type_is(…)`, `is_in(…)`, joined by `&&` and `||`";

/// Parses the filter. `None` after an error.
pub(super) fn resolve(expr: &Expr, fields: &[Field], parsed: &Parsed, sink: &Sink) -> Option<Partial> {
    match expr {
        Expr::Paren(e) => resolve(&e.expr, fields, parsed, sink),
        Expr::Group(e) => resolve(&e.expr, fields, parsed, sink),
        Expr::Binary(e) => match e.op {
            BinOp::And(_) | BinOp::Or(_) => {
                let (left, right) = (
                    resolve(&e.left, fields, parsed, sink),
                    resolve(&e.right, fields, parsed, sink),
                );
                let (left, right) = (Box::new(left?), Box::new(right?));
                Some(if matches!(e.op, BinOp::And(_)) {
                    Partial::And(left, right)
                } else {
                    Partial::Or(left, right)
                })
            }
            _ => {
                let comparison = match e.op {
                    BinOp::Eq(_) => Comparison::Eq,
                    BinOp::Gt(_) => Comparison::Gt,
                    BinOp::Ge(_) => Comparison::Gte,
                    BinOp::Lt(_) => Comparison::Lt,
                    BinOp::Le(_) => Comparison::Lte,
                    _ => {
                        sink.on(e.op, ALLOWED);
                        return None;
                    }
                };
                let path = path(&e.left, fields, parsed, sink)?;
                if is_name(&e.right, "null") {
                    sink.on(&e.right, "null is written as `None`: `field == None`");
                    return None;
                }
                if matches!(comparison, Comparison::Eq) && is_name(&e.right, "None") {
                    return Some(Partial::Null { path });
                }
                Some(Partial::Compare {
                    path,
                    comparison,
                    value: (*e.right).clone(),
                })
            }
        },
        Expr::MethodCall(e) => {
            let method = e.method.clone();
            match (method.to_string().as_str(), e.args.len(), e.args.first()) {
                ("exists", 0, _) => Some(Partial::Exists {
                    path: path(&e.receiver, fields, parsed, sink)?,
                    method,
                }),
                ("type_is" | "is_in", 1, Some(argument)) => {
                    let argument = argument.clone();
                    Some(Partial::Call {
                        path: path(&e.receiver, fields, parsed, sink)?,
                        method,
                        argument,
                    })
                }
                _ => {
                    sink.on(&method, ALLOWED);
                    None
                }
            }
        }
        Expr::Unary(e) => {
            sink.on(e.op, ALLOWED);
            None
        }
        other => {
            sink.on(other, ALLOWED);
            None
        }
    }
}

/// Whether an expression is a single name.
fn is_name(expr: &Expr, name: &str) -> bool {
    matches!(expr, Expr::Path(e) if e.path.is_ident(name))
}

/// The field of an expression. `None` after an error.
fn path(expr: &Expr, fields: &[Field], parsed: &Parsed, sink: &Sink) -> Option<FieldPath> {
    fn segments(expr: &Expr, out: &mut Vec<Ident>) -> bool {
        match expr {
            Expr::Path(e) => match e.path.get_ident() {
                Some(ident) => {
                    out.push(ident.clone());
                    true
                }
                None => false,
            },
            Expr::Field(e) => {
                let Member::Named(member) = &e.member else {
                    return false;
                };
                let known = segments(&e.base, out);
                out.push(member.clone());
                known
            }
            _ => false,
        }
    }
    let mut found = Vec::new();
    if !segments(expr, &mut found) {
        sink.at(
            expr.span(),
            "expected a field, as in `status` or `address.city`, on the left",
        );
        return None;
    }
    let path = FieldPath { segments: found };
    check_first(&path, fields, parsed, &[], sink).then_some(path)
}
