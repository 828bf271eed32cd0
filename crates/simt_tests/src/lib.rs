//! Nothing: the tests are under `tests`.
