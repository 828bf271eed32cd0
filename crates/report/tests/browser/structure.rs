//! What the text of the page must have.

use super::fixture::{HOSTILE, catalog, measured, report, simulated};
use record::{Backend, Language, Record, doubt::Residuals};
use report::html::{page, picture};
use std::collections::{BTreeMap, BTreeSet};

/// The most that a page may have.
const MOST_BYTES: usize = 3_000_000;

/// The page without its style and its script, which are not records'.
fn body() -> String {
    let catalog = catalog();
    let page = page(&report(&catalog));
    let start = page.find("<body>").expect("the page has a body");
    let end = page.rfind("<script>").expect("the page has a script");
    page[start..end].to_string()
}

/// The values of an attribute, in order.
fn values<'p>(page: &'p str, attribute: &str) -> Vec<&'p str> {
    let opening = format!(" {attribute}=\"");
    page.split(&opening).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

/// The opening tags that have an attribute, each with all of its attributes.
fn tags(page: &str, attribute: &str) -> Vec<BTreeMap<String, String>> {
    let opening = format!(" {attribute}=\"");
    let tags = page.split('<').filter_map(|tag| tag.split_once('>').map(|(tag, _)| tag));
    let attributes = |tag: &str| {
        let parts: Vec<&str> = tag.split('"').collect();
        let pairs = parts.chunks_exact(2);
        pairs
            .map(|pair| {
                (
                    pair[0].trim().rsplit(' ').next().unwrap_or("").trim_end_matches('=').to_string(),
                    pair[1].to_string(),
                )
            })
            .collect()
    };
    tags.filter(|tag| tag.contains(&opening)).map(attributes).collect()
}

/// A section of the page, from its id to the next of its kind.
fn section<'p>(page: &'p str, id: &str) -> &'p str {
    let start = page.find(&format!("id=\"{id}\"")).unwrap_or_else(|| panic!("there is no {id}"));
    let rest = &page[start..];
    &rest[..rest.find("</section>").unwrap_or(rest.len())]
}

#[test]
fn ids_are_unique_and_links_lead_to_them() {
    let page = body();
    let ids = values(&page, "id");
    let unique: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), unique.len(), "an id stands twice");
    let links = values(&page, "href");
    let inner: Vec<&str> = links.iter().filter_map(|link| link.strip_prefix('#')).collect();
    assert!(inner.len() > 20, "{inner:?}");
    for link in inner {
        assert!(unique.contains(link), "nothing has the id {link}");
    }
    for named in values(&page, "aria-labelledby").iter().flat_map(|ids| ids.split(' ')) {
        assert!(unique.contains(named), "nothing has the id {named}");
    }
    assert!(links.contains(&"https://example.org/?a=1&amp;b=2"), "the article is linked");
    assert!(unique.contains("kernel-offset_f32") && unique.contains("lesson-unified"));
}

#[test]
fn nothing_from_records_or_sources_is_markup() {
    let page = body();
    assert!(!page.contains("<script") && !page.contains(HOSTILE), "a text is not escaped");
    assert!(page.contains("&lt;/script&gt;&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; 'x'"));
    for text in
        ["Card &lt;X&gt;", "what &lt;it&gt; shows", "On &lt;sectors&gt;", "Adds &lt;one&gt;", "&lt;b&gt;"]
    {
        assert!(page.contains(text), "{text}");
    }
}

#[test]
fn curves_have_the_numbers_of_their_rows() {
    let page = body();
    let drawn = |lesson: &str| -> BTreeSet<[String; 3]> {
        let marks = tags(section(&page, &format!("lesson-{lesson}")), "data-kernel");
        marks
            .into_iter()
            .map(|mark| ["data-kernel", "data-x", "data-y"].map(|name| mark[name].clone()))
            .collect()
    };
    let recorded = |lesson: &str, rows: Vec<Record>| -> BTreeSet<[String; 3]> {
        let rows = rows.into_iter().filter(|row| row.experiment == lesson && row.language == Language::Rust);
        let mark = |row: Record| {
            let x = row.parameters.swept.map(|swept| swept.value).expect("it is swept");
            [row.kernel, x.to_string(), row.gb_per_s.expect("it verified").to_string()]
        };
        rows.map(mark).collect()
    };
    let both = measured().into_iter().chain(simulated()).collect();
    let offsets = recorded("offset", both);
    assert_eq!(offsets.len(), 66 + 4);
    assert_eq!(drawn("offset"), offsets);
    let strides = recorded("stride", measured());
    assert_eq!(strides.len(), 64);
    assert_eq!(drawn("stride"), strides);
}

/// The coordinates of a text such as `"1,2 3,4"`.
fn coordinates(points: &str) -> Vec<[f64; 2]> {
    let number = |text: &str| text.parse::<f64>().unwrap_or_else(|error| panic!("{text}: {error}"));
    let pairs = points.split(' ').filter_map(|point| point.split_once(','));
    pairs.map(|(x, y)| [number(x), number(y)]).collect()
}

/// A band's edges are where its axis has the bounds of the rows' intervals.
#[test]
fn bands_are_at_the_intervals_of_their_rows() {
    let page = body();
    let section = section(&page, "lesson-offset");
    let drawings: Vec<&str> =
        section.split("<svg ").skip(1).map(|drawing| drawing.split("</svg>").next().unwrap_or("")).collect();
    let (modelled, measured): (Vec<&str>, Vec<&str>) =
        drawings.iter().partition(|drawing| drawing.contains("data-low"));
    assert_eq!((modelled.len(), measured.len()), (2, 2), "each run is drawn for two widths");
    assert!(measured.iter().all(|drawing| !drawing.contains("<polygon")), "a measured curve has no band");
    for drawing in modelled {
        // The axis goes in proportion: two of its lines tell where each value is.
        let ticks: Vec<(f64, f64)> = drawing
            .split("<text class=\"tick end\"")
            .skip(1)
            .filter_map(|tick| {
                let value = tick.split('>').nth(1)?.split('<').next()?.replace(',', "").parse().ok()?;
                // A number stands 4 pixels below its line.
                Some((value, tick.split("y=\"").nth(1)?.split('"').next()?.parse::<f64>().ok()? - 4.0))
            })
            .collect();
        let (first, last) = (ticks[0], ticks[ticks.len() - 1]);
        let at = |value: f64| first.1 + (last.1 - first.1) * (value - first.0) / (last.0 - first.0);
        let tags = drawing.split("<polygon").skip(1).filter_map(|band| band.split('>').next());
        let outlines: Vec<&str> = tags.flat_map(|tag| values(tag, "points")).collect();
        assert_eq!(outlines.len(), 1, "{outlines:?}");
        let edges = coordinates(outlines[0]);
        let rows: Vec<Record> = simulated().into_iter().filter(|row| row.experiment == "offset").collect();
        assert_eq!(edges.len(), 2 * rows.len());
        for (nth, row) in rows.iter().enumerate() {
            // A rate's upper bound is that of the shortest time.
            let [shortest, longest] = row.time_ms.and_then(|times| times.interval).expect("it is modelled");
            let bytes = row.moved() as f64 / 1e6;
            let found = [edges[nth], edges[edges.len() - 1 - nth]];
            assert_eq!(found[0][0], found[1][0], "both bounds stand at one place");
            for ([_, y], expected) in found.iter().zip([bytes / shortest, bytes / longest]) {
                assert!((y - at(expected)).abs() < 0.3, "{y} is not at {expected}, {}", at(expected));
            }
        }
    }
    // Rows of before there were intervals.
    assert!(!self::section(&page, "lesson-unified").contains("<polygon"));
}

#[test]
fn intervals_stand_beside_modelled_figures() {
    let page = body();
    let rows = simulated();
    let of = |experiment: &str| rows.iter().find(|row| row.experiment == experiment).expect("a row");
    let shown = |row: &Record, decimals: usize| {
        let figure = row.figure().expect("it verified");
        let times = row.time_ms.expect("it was timed");
        let [shortest, longest] = times.interval.expect("it is modelled").map(|time| time / times.median);
        let [low, high] = match row.measure().is_time() {
            true => [figure * shortest, figure * longest],
            false => [figure / longest, figure / shortest],
        };
        [figure, low, high].map(|figure| format!("{figure:.decimals$}"))
    };
    let [offset, latency] = ["offset", "latency"].map(|lesson| section(&page, &format!("lesson-{lesson}")));
    let [rate, low, high] = shown(of("offset"), 0).map(|text| format!("{},{}", &text[..1], &text[1..]));
    assert!(
        offset.contains(&format!("<title>offset_f32, offset 0: {rate} ({low}–{high}) GB/s</title>")),
        "{rate}"
    );
    assert!(offset.contains(&format!("<td>{rate}<span class=\"unit\"> {low}–{high}</span></td>")));
    assert!(offset.contains("<span class=\"unit\"> GB/s (8 in 10)</span>"));
    let [ns, low, high] = shown(of("latency"), 1);
    assert!(latency.contains(&format!(": {ns} ({low}–{high}) ns/load</title>")), "{ns} {low} {high}");
    let [rate, low, high] = shown(of("matmul"), 0).map(|text| format!("{},{}", &text[..1], &text[1..]));
    assert!(
        section(&page, "lesson-matmul").contains(&format!("matmul_naive: {rate} ({low}–{high}) GFLOP/s at"))
    );
    // The run's copy is judged as the model's copies on that card are.
    let copy = simulated()[0].copy.expect("the run has a copy").gb_per_s;
    let [shortest, longest] =
        Residuals::built_in().interval("x", None, record::Bound::Dram, 1.0).expect("there are residuals");
    let [low, high] = [copy / longest, copy / shortest].map(|rate| format!("{rate:.0}"));
    let [low, high] = [low, high].map(|text| format!("{},{}", &text[..1], &text[1..]));
    assert!(section(&page, "run-1").contains(&format!("eight are measured at {low}–{high}")), "{low} {high}");
    assert!(!section(&page, "run-0").contains("of ten such copies"));
    let thousands = |text: String| match text.len().checked_sub(3) {
        Some(at @ 1..) => format!("{},{}", &text[..at], &text[at..]),
        _ => text,
    };
    let [rate, low, high] = shown(of("mountain"), 0).map(thousands);
    let cell = format!("stride 1, footprint 64 KiB: {rate} ({low}–{high}) GB/s</title>");
    assert!(section(&page, "lesson-mountain").contains(&cell), "{cell}");
}

#[test]
fn bars_and_roofs_have_the_numbers_of_their_rows() {
    let page = body();
    let marks = tags(section(&page, "lesson-copy"), "data-kernel");
    let rows: Vec<Record> = measured().into_iter().filter(|row| row.experiment == "copy").collect();
    let ours: Vec<&Record> = rows.iter().filter(|row| row.language != Language::CudaCpp).collect();
    assert_eq!(marks.len(), ours.len());
    for (mark, row) in marks.iter().zip(&ours) {
        assert_eq!(mark["data-kernel"], row.kernel);
        assert_eq!(mark["data-y"], row.gb_per_s.expect("it verified").to_string());
    }
    let twins = tags(section(&page, "lesson-copy"), "data-twin");
    assert_eq!(twins.len(), rows.iter().filter(|row| row.language == Language::CudaCpp).count());
    let roofline = tags(section(&page, "lesson-matmul"), "data-kernel");
    let points: BTreeSet<(String, String, String)> = roofline
        .iter()
        .map(|mark| (mark["data-kernel"].clone(), mark["data-x"].clone(), mark["data-y"].clone()))
        .collect();
    let point = |kernel: &str, x: &str, y: &str| (kernel.to_string(), x.to_string(), y.to_string());
    assert_eq!(points, [point("matmul_naive", "0.25", "4000"), point("matmul_tiled", "4", "9000")].into());
    // 132 multiprocessors, 128 lanes, two operations each, 1.98 GHz.
    let roofs = tags(section(&page, "lesson-matmul"), "data-line");
    let units =
        roofs.iter().find(|roof| roof["data-line"] == "f32 units").expect("the card's clock is known");
    assert_eq!(units["data-y"], "66908.16");
    assert!(section(&page, "run-1").contains("are from a data sheet; its model: fitted to &lt;nothing&gt;."));
    assert!(section(&page, "lesson-transpose").contains("INVALID"), "a row that did not verify says so");
}

#[test]
fn latencies_are_drawn_in_their_unit_and_maps_by_both_parameters() {
    let page = body();
    let latency = section(&page, "lesson-latency");
    let marks: BTreeSet<[String; 2]> = tags(latency, "data-kernel")
        .into_iter()
        .filter(|mark| mark["data-kernel"] == "chase_l2")
        .map(|mark| ["data-x", "data-y"].map(|name| mark[name].clone()))
        .collect();
    let place = |shift: u32, ns: &str| [(1u64 << shift).to_string(), ns.to_string()];
    let expected = [(10, "110"), (14, "110"), (18, "110"), (22, "110"), (26, "510"), (30, "510")];
    assert_eq!(marks, expected.map(|(shift, ns)| place(shift, ns)).into());
    assert!(latency.contains("ns/load, modelled") && latency.contains(">16 KiB</text>"), "{latency}");
    // Neither bandwidth nor its ceilings belong to it.
    assert!(!latency.contains("GB/s") && tags(latency, "data-line").is_empty(), "{latency}");
    let mountain = section(&page, "lesson-mountain");
    let cells = tags(mountain, "data-kernel");
    // 18 cells, each in the drawing for wide columns and in that for narrow ones.
    assert_eq!(cells.len(), 36);
    // 64 KiB at a stride of 1 takes 6 us, 256 MiB at a stride of 32 takes 18 * 32 us.
    let strength = |place: usize| cells[place]["fill-opacity"].parse::<f64>().expect("a number");
    assert_eq!((cells[0]["data-x"].as_str(), strength(0)), ("1", 0.55));
    assert_eq!((cells[17]["data-x"].as_str(), strength(17)), ("32", 0.05));
}

#[test]
fn the_first_screen_has_the_best_row_of_each_kernel() {
    let page = body();
    let run = section(&page, "run-0");
    let marks = tags(run, "data-kernel");
    let rows = measured();
    let kernels: BTreeSet<&str> = rows.iter().map(|row| row.kernel.as_str()).collect();
    assert_eq!(marks.len(), kernels.len());
    for mark in marks {
        let rates =
            rows.iter().filter(|row| row.kernel == mark["data-kernel"] && row.language != Language::CudaCpp);
        let best = rates.filter_map(|row| row.gb_per_s).fold(0.0, f64::max);
        assert_eq!(mark["data-y"], best.to_string());
    }
    let lines: Vec<String> = tags(run, "data-line").into_iter().map(|tag| tag["data-y"].clone()).collect();
    assert_eq!(lines, ["4212.801030815975", "4814.304"]);
    assert!(run.contains("2026-01-01 00:00 UTC"), "the time of the run");
}

#[test]
fn modelled_figures_say_that_they_are() {
    let page = body();
    let figures: Vec<&str> =
        page.split("<figure").skip(1).filter_map(|rest| rest.split("</figure>").next()).collect();
    let modelled: Vec<&&str> = figures.iter().filter(|figure| figure.contains("Card &lt;X&gt;")).collect();
    assert!(modelled.len() >= 8, "{}", modelled.len());
    for figure in &modelled {
        let caption = figure.split("</figcaption>").next().unwrap_or_default();
        assert!(caption.contains("modelled") && !caption.contains("measured"), "{caption}");
        let hatched = figure.contains("class=\"hatched\"") || figure.contains("class=\"bars modelled\"");
        assert!(hatched, "{caption}");
    }
    let measured = figures.iter().filter(|figure| figure.contains("NVIDIA H200, measured"));
    for figure in measured {
        assert!(!figure.contains("modelled") && !figure.contains("hatched"), "{figure}");
    }
    let own = Residuals::built_in().own_errors().expect("there are residuals").median_in_words();
    let expected = format!("off by {own} in the median (465 rows fitted the model)");
    let cards = [("run-0", Backend::Measured), ("run-1", Backend::Modelled)];
    for (id, backend) in cards {
        let says = section(&page, id).contains(&expected);
        assert_eq!(says, backend == Backend::Modelled, "{id}");
    }
}

#[test]
fn a_kernel_shows_its_lines_and_its_worst_access() {
    let page = body();
    let kernel = section(&page, "kernel-offset_f32");
    let kernel = &kernel[..kernel.find("id=\"kernel-tile\"").expect("the next kernel")];
    let lines: Vec<&str> = values(kernel, "data-line");
    // The comment, the function and its end with the heat of line 6; the two stretches of PTX.
    assert_eq!(lines, ["3", "4", "5", "6", "6", "7", "6", "7"]);
    let heat = &tags(kernel, "data-sectors")[0];
    assert_eq!((heat["data-sectors"].as_str(), heat["style"].as_str()), ("500", "--share:1.000"));
    assert!(kernel.contains("global loads: 100 requests, 500 sectors (5 per request), 80% efficient"));
    assert!(kernel.contains("32 lanes of warp 0 of block (0, 0, 0) ask for 128 bytes and touch 5 sectors in 2 lines of 128 bytes: 160 bytes move, 80% of them asked for."));
    let drawn = &tags(kernel, "data-addresses")[0];
    let addresses: Vec<String> = (0..32).map(|lane| (4 + lane * 4).to_string()).collect();
    assert_eq!(
        (drawn["data-kind"].as_str(), drawn["data-addresses"].as_str()),
        ("sectors", addresses.join(" ").as_str())
    );
    assert!(kernel.contains("DRAM 100%, L2 40%, latency 25%, L1 and shared memory 10%, launch 5%."));
    assert!(kernel.contains("An SM holds 8 blocks of 8 warps, 64 of 64 warps (100%)."));
    assert!(kernel.contains("Limited by warps;") && kernel.contains("100% of all sectors"));
    let tile = section(&page, "kernel-tile");
    let machine = tile.split("SASS</summary>").nth(1).expect("it was disassembled");
    assert!(machine.contains("S6\" data-line=\"6\">") && machine.contains("LDS R0, [R1] ;"), "{machine}");
    assert!(tile.contains("up to 32 different words lie in one bank, so the request takes 32 wavefronts."));
    assert!(tile.contains(
        "shared loads: 10 requests, 320 wavefronts (32 per request), 310 of them lost to bank conflicts"
    ));
}

#[test]
fn many_curves_are_drawn_kernel_by_kernel() {
    let page = body();
    let unified = section(&page, "lesson-unified");
    let charts = values(unified, "id")
        .into_iter()
        .filter(|id| id.starts_with("chart-unified-1-") && id.matches('-').count() == 3);
    assert_eq!(charts.count(), 3);
    let marks = tags(unified, "data-kernel").len();
    // Each is drawn for wide and for narrow columns.
    assert_eq!(marks, 2 * 27);
}

#[test]
fn every_chart_has_a_table_and_words() {
    let page = body();
    for figure in page.split("<figure").skip(1).filter_map(|rest| rest.split("</figure>").next()) {
        assert!(figure.contains("<table"), "{figure}");
        for drawing in figure.split("<svg").skip(1) {
            assert!(
                drawing.contains("role=\"img\"")
                    && drawing.contains("</title>")
                    && drawing.contains("</desc>")
            );
        }
    }
}

#[test]
fn runs_of_one_card_are_told_apart() {
    let catalog = catalog();
    let mut report = report(&catalog);
    let first = report.runs[0].clone();
    report.runs[1] = first.clone();
    let told = page(&report);
    assert!(
        told.contains("over offset, NVIDIA H200, run 1, measured")
            && told.contains("NVIDIA H200, run 2, measured")
    );
    report.runs[1].run.device.driver = "14.0".to_string();
    assert!(page(&report).contains("over offset, NVIDIA H200, driver 14.0, measured"));
}

#[test]
fn the_page_is_one_file_of_modest_size() {
    let catalog = catalog();
    let page = page(&report(&catalog));
    assert!(page.len() < MOST_BYTES, "{}", page.len());
    for outside in ["<link", "src=\"", "@import", "url(http"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn lessons_are_drawn_as_a_picture_of_their_own() {
    let catalog = catalog();
    let report = report(&catalog);
    let drawn = picture(&report, &["offset", "stride", "copy"]).expect("offset and stride are curves");
    assert!(drawn.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
    // Two cards beside each other, two lessons below each other.
    assert!(drawn.contains("width=\"764\""), "{}", &drawn[..200]);
    assert_eq!(drawn.matches("text class=\"title\"").count(), 3);
    assert!(drawn.contains(">Effective bandwidth over offset</text>"));
    assert!(drawn.contains(">Card &lt;X&gt;, modelled</text>"));
    let marks = tags(&drawn, "data-kernel").len();
    assert_eq!(marks, 66 + 4 + 64);
    let style =
        drawn.split("<style>").nth(1).and_then(|rest| rest.split("</style>").next()).expect("a style");
    assert!(!style.contains(['<', '&']), "the style is text of XML");
    assert_eq!((picture(&report, &["copy"]), picture(&report, &["none"])), (None, None));
}
