//! Keys of the table `network.routing` that apply to some algorithms only.

use super::Routing;

macro_rules! keys {
    ($($key:ident: $name:ident,)*) => {
        /// A key that applies to some algorithms only. All others (`algorithm`, `vcs`, `deadlock_check`) apply to every
        /// algorithm.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum RoutingKey {
            $(
                #[doc = concat!("`", stringify!($name), "`")]
                $key,
            )*
        }

        impl RoutingKey {
            /// All keys, in the order of the reference.
            pub const ALL: &'static [RoutingKey] = &[$(RoutingKey::$key),*];

            /// The name in a scenario.
            pub const fn name(self) -> &'static str {
                match self {
                    $(RoutingKey::$key => stringify!($name),)*
                }
            }

            /// Whether `routing` sets this key.
            pub const fn is_given(self, routing: &Routing) -> bool {
                match self {
                    $(RoutingKey::$key => routing.$name.is_some(),)*
                }
            }

            /// Removes this key from `routing`.
            pub fn forget(self, routing: &mut Routing) {
                match self {
                    $(RoutingKey::$key => routing.$name = None,)*
                }
            }
        }
    };
}

keys! {
    Via: via,
    Candidates: candidates,
    Threshold: threshold,
    Bias: bias,
    Comparison: comparison,
    WeighHops: weigh_hops,
    Knowledge: knowledge,
    KnowledgeInterval: knowledge_interval,
    KnowledgeDelay: knowledge_delay,
    CongestionFactor: congestion_factor,
    CongestionThreshold: congestion_threshold,
    InGroup: in_group,
    Divert: divert,
    Selection: selection,
    Ties: ties,
    Up: up,
    VcRule: vc_rule,
    Spread: spread,
    Paths: paths,
    Routes: routes,
}
