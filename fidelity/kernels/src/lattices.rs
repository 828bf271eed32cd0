//! Fields on lattices, and other sciences.
