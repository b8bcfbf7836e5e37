//! Routing on every family of networks, on small instances and for all outcomes of its choices. Every packet arrives
//! within the stated number of cables, minimal ones by a shortest path. The dependencies of the channels have no cycle,
//! and have one if levels are removed.

mod detours;
mod dragonfly;
mod dragonfly_plus;
mod fat_tree;
mod hyperx;
mod path_sets;
mod paths;
mod pauses;
mod polarfly;
mod rail_optimized;
mod shortest_paths;
mod slim_fly;
mod torus;
mod up_down;
mod worst_load;
