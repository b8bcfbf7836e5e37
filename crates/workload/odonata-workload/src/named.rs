//! Enumerations whose variants have names.

/// Declares an enumeration without data. `ALL` lists its variants in the order of their numbers, `name` is the text of
/// each.
#[macro_export]
macro_rules! named {
    ($(#[$attribute:meta])* pub enum $enum:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$attribute])*
        pub enum $enum {
            $($(#[$doc])* $variant,)*
        }

        impl $enum {
            /// All of them, in the order of their numbers.
            pub const ALL: [$enum; [$($text),*].len()] = [$($enum::$variant),*];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self {
                    $($enum::$variant => $text,)*
                }
            }
        }
    };
}
