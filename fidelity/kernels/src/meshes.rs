//! Meshes, geometry, and linear algebra of sparse and small systems.
