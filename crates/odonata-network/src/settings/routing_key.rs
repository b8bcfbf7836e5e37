//! The keys of the table `network.routing` that go with some algorithms only.

use super::Routing;

macro_rules! keys {
    ($($key:ident: $name:ident,)*) => {
        /// A key that an algorithm has to take, or is refused. All others (`algorithm`, `vcs`, `deadlock_check`) go with every
        /// algorithm.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum RoutingKey {
            $(
                #[doc = concat!("`", stringify!($name), "`")]
                $key,
            )*
        }

        impl RoutingKey {
            /// All of them, in the order of the reference.
            pub const ALL: &'static [RoutingKey] = &[$(RoutingKey::$key),*];

            /// Its name in a scenario.
            pub const fn name(self) -> &'static str {
                match self {
                    $(RoutingKey::$key => stringify!($name),)*
                }
            }

            /// Whether `routing` has a value of it.
            pub const fn is_given(self, routing: &Routing) -> bool {
                match self {
                    $(RoutingKey::$key => routing.$name.is_some(),)*
                }
            }

            /// Leaves it out.
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
    Divert: divert,
    Selection: selection,
    Ties: ties,
    Up: up,
    VcRule: vc_rule,
}
