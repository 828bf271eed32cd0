//! The report's page: its structure, and how it behaves in a browser.
//!
//! The structure is read from the text. The browser is Chromium, headless, where there is one; without one those tests say on
//! stderr that they were skipped. With `COALESCE_BROWSER=required` in the environment they fail instead.

#[path = "browser/chromium.rs"]
mod chromium;
#[path = "browser/fixture.rs"]
mod fixture;
#[path = "browser/structure.rs"]
mod structure;
