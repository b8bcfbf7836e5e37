//! Command-line options of a program: its parameters.

use super::lexer::signed_number;

/// A parameter with its constant default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The variable, in lower case.
    pub name: String,
    /// Its description.
    pub about: String,
    /// With its two hyphens.
    pub long: String,
    /// With its hyphen.
    pub short: String,
    /// Its default value.
    pub default: i64,
}

/// The values of `parameters` under `args`: `--name=v`, `--name v`, `-x v`, `-xv`; long names may be abbreviated
/// unambiguously. The last of several wins.
///
/// # Errors
/// (reason, found): an unknown option, or a value that is not a number.
pub(super) fn values(parameters: &[Parameter], args: &[String]) -> Result<Vec<i64>, (&'static str, String)> {
    const UNKNOWN: &str = "unknown command-line option";
    let mut values: Vec<i64> = parameters.iter().map(|parameter| parameter.default).collect();
    let known = || {
        let names: Vec<&str> = parameters.iter().map(|parameter| parameter.long.as_str()).collect();
        if names.is_empty() {
            "the program has none".into()
        } else {
            format!("expected one of {}", names.join(", "))
        }
    };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let (which, given) = if arg.starts_with("--") {
            let (name, given) = match arg.split_once('=') {
                Some((name, given)) => (name, Some(given)),
                None => (arg.as_str(), None),
            };
            let exact = parameters.iter().position(|parameter| parameter.long == name);
            let which = exact.map_or_else(
                || {
                    let mut fits =
                        (0..parameters.len()).filter(|&i| name.len() > 2 && parameters[i].long.starts_with(name));
                    match (fits.next(), fits.next()) {
                        (Some(which), None) => Ok(which),
                        (Some(_), Some(_)) => Err((UNKNOWN, format!("option {name:?} is ambiguous: {}", known()))),
                        _ => Err((UNKNOWN, format!("unknown option {name:?}: {}", known()))),
                    }
                },
                Ok,
            )?;
            (which, given)
        } else {
            let name = arg.get(..2).filter(|name| name.starts_with('-'));
            let which = name.and_then(|name| parameters.iter().position(|parameter| parameter.short == name));
            let Some(which) = which else {
                return Err((UNKNOWN, format!("unknown option {arg:?}: {}", known())));
            };
            (which, arg.get(2..).filter(|given| !given.is_empty()))
        };
        let given = match given {
            Some(given) => given,
            None => args
                .next()
                .ok_or_else(|| ("option without a value", format!("option {arg:?} needs a value")))?,
        };
        values[which] = signed_number(given).ok_or_else(|| {
            let message = format!("option {arg:?} has value {given:?}: expected an integer, as 12, 64K or 1E6");
            ("option value is not an integer", message)
        })?;
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(name: &str, short: &str) -> Parameter {
        Parameter {
            name: name.into(),
            about: String::new(),
            long: format!("--{name}"),
            short: short.into(),
            default: 1,
        }
    }

    #[test]
    fn options_come_in_all_their_forms() {
        let parameters = [parameter("reps", "-r"), parameter("readers", "-n")];
        let get = |args: &[&str]| values(&parameters, &args.iter().map(|arg| (*arg).into()).collect::<Vec<_>>());
        assert_eq!(get(&[]), Ok(vec![1, 1]));
        assert_eq!(get(&["--reps=4K", "-n", "7"]), Ok(vec![4096, 7]));
        assert_eq!(get(&["--rep", "3", "-n-2"]), Ok(vec![3, -2]));
        assert_eq!(get(&["--re=3"]).unwrap_err().0, "unknown command-line option");
        assert_eq!(get(&["--zz=9"]).unwrap_err().0, "unknown command-line option");
        assert_eq!(get(&["é"]).unwrap_err().0, "unknown command-line option");
        assert_eq!(get(&["-"]).unwrap_err().0, "unknown command-line option");
        assert_eq!(get(&["--reps"]).unwrap_err().0, "option without a value");
        assert_eq!(get(&["--reps=x"]).unwrap_err().0, "option value is not an integer");
    }
}
