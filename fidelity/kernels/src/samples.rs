//! Neural networks, statistics and search.
