//! The page in headless Chromium: three widths, two themes, its script and its drawings. `checks.js` looks at it from within.

use super::fixture::{catalog, report};
use report::html::page;
use serde_json::{Value, json};
use std::{env, fs, path::Path, process::Command};

/// Looks at the page at each width, and leaves what it finds as JSON.
const CHECKS: &str = include_str!("checks.js");

/// The names under which Chromium is installed.
const NAMES: [&str; 5] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];

/// The browser; `None`, said on stderr, where there is none and none is required.
fn browser() -> Option<&'static str> {
    let found = NAMES.into_iter().find(|name| {
        Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
    });
    if found.is_none() {
        let why = format!("none of {} can be run", NAMES.join(", "));
        let required = env::var_os("COALESCE_BROWSER").is_some_and(|value| value == "required");
        assert!(!required, "COALESCE_BROWSER=required, but {why}; install Chromium");
        eprintln!("SKIPPED: the page was not looked at in a browser, since {why}");
    }
    found
}

/// What the checks found in each of the widths.
fn findings(browser: &str) -> Vec<Value> {
    let catalog = catalog();
    let page = page(&report(&catalog));
    // In a script, no text may end it.
    let literal = serde_json::to_string(&page).expect("a text is JSON").replace("</", "<\\/");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser");
    fs::create_dir_all(&folder).expect("the folder for tests can be written");
    // The page itself, to look at.
    fs::write(folder.join("page.html"), &page).expect("the folder for tests can be written");
    let file = folder.join("checks.html");
    let text = format!(
        "<!DOCTYPE html><body><pre id=\"findings\"></pre><script>const PAGE = {literal};\n{CHECKS}</script>"
    );
    fs::write(&file, text).expect("the folder for tests can be written");
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--window-size=1700,1000",
            "--virtual-time-budget=20000",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("file://{}", file.display()))
        .output()
        .expect("the browser runs");
    let dump = String::from_utf8_lossy(&output.stdout);
    let found = dump
        .split("<pre id=\"findings\">")
        .nth(1)
        .and_then(|rest| rest.split("</pre>").next())
        .unwrap_or_default();
    let found = found.replace("&lt;", "<").replace("&gt;", ">").replace("&nbsp;", " ").replace("&amp;", "&");
    serde_json::from_str(&found).unwrap_or_else(|error| {
        panic!(
            "the checks left no findings ({error}): {found:?}\n{}",
            String::from_utf8_lossy(&output.stderr)
        )
    })
}

#[test]
fn the_page_behaves_in_a_browser() {
    let Some(browser) = browser() else { return };
    let findings = findings(browser);
    let widths: Vec<&Value> = findings.iter().map(|finding| &finding["width"]).collect();
    assert_eq!(widths, [&json!(360), &json!(900), &json!(1600)]);
    for finding in &findings {
        let width = &finding["width"];
        for nothing in ["errors", "overflow", "clipped", "overlapping", "faint", "dead_links"] {
            assert_eq!(finding[nothing], json!([]), "{nothing} at {width} pixels");
        }
        assert_eq!(finding["drawn"], finding["charts"], "each chart shows one drawing at {width} pixels");
        assert_eq!(finding["drawing"], json!(if *width == json!(360) { "narrow" } else { "wide" }));
        assert_eq!(finding["themes"], json!(["light", "dark", "auto"]), "the button goes through the themes");
        assert_eq!(finding["lit"], json!(["L6", "P6"]), "a line and its PTX light up together");
        assert_eq!(finding["opened"], json!(true), "a link opens the kernel that it leads to");
    }
}
