//! Pictures, sound, text and packed data.
