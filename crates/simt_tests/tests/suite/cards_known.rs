//! Built-in cards, card files, and occupancy against values of NVIDIA's calculator.

use simt::cards::{
    BlockShape, Card, Limiter, Limits, Occupancy, OccupancyError, Residency, all, find, from_toml,
    with_sources,
};
use simt::internals::cards::source_of;
use simt::model::{PeerAccess, PeerLink};

#[test]
fn every_card_is_possible_and_says_where_it_is_from() {
    let cards = all();
    let keys: Vec<&str> = cards.iter().map(|card| card.key.as_str()).collect();
    assert_eq!(
        keys,
        [
            "c870", "c1060", "gtx280", "c2050", "m2090", "k20x", "k40c", "v100", "t4", "rtx3090", "a100-40",
            "a100-80", "h100", "rtx4090", "l4", "h200", "b200", "rtx5090"
        ]
    );
    for card in &cards {
        card.check().unwrap();
        assert!(!card.source.is_empty() && !card.calibration.is_empty(), "{}", card.key);
        // Peak bandwidth and bus width give a transfer rate that such memory had: 1.6 to 28 GT/s a pin.
        let rate = card.dram_gb_per_s * 8.0 / f64::from(card.dram_bus_bits);
        assert!((1.5..=28.0).contains(&rate), "{}: {rate} GT/s", card.key);
    }
}

#[test]
fn the_figures_of_the_data_sheets() {
    let sheet = |key: &str| {
        let card = find(key).unwrap();
        (card.compute_capability.to_string(), card.multiprocessors, card.dram_gb_per_s, card.dram_partitions)
    };
    assert_eq!(sheet("c870"), ("1.0".to_owned(), 16, 76.8, 6));
    assert_eq!(sheet("c1060"), ("1.3".to_owned(), 30, 102.4, 8));
    assert_eq!(sheet("gtx280"), ("1.3".to_owned(), 30, 141.7, 8));
    assert_eq!(sheet("c2050"), ("2.0".to_owned(), 14, 144.0, 0));
    assert_eq!(sheet("K40c"), ("3.5".to_owned(), 15, 288.4, 0));
    assert_eq!(sheet("v100"), ("7.0".to_owned(), 80, 898.0, 0));
    assert_eq!(sheet("rtx3090"), ("8.6".to_owned(), 82, 936.0, 0));
    assert_eq!(sheet("a100-80"), ("8.0".to_owned(), 108, 2039.0, 0));
    assert_eq!(sheet("H200"), ("9.0".to_owned(), 132, 4814.304, 0));
    assert_eq!(sheet("t4"), ("7.5".to_owned(), 40, 320.0, 0));
    assert_eq!(sheet("l4"), ("8.9".to_owned(), 58, 300.0, 0));
    assert_eq!(sheet("rtx4090"), ("8.9".to_owned(), 128, 1008.0, 0));
    assert_eq!(sheet("rtx5090"), ("12.0".to_owned(), 170, 1792.0, 0));
    assert_eq!(sheet("b200"), ("10.0".to_owned(), 148, 7672.32, 0));
}

#[test]
fn every_figure_has_a_source() {
    const PROSE: [&str; 5] = ["key", "name", "compute_capability", "source", "calibration"];
    for card in all() {
        for line in card.to_toml().lines() {
            let (field, _) = line.split_once(" = ").expect("a field and its value");
            let source = source_of(&card.key, field);
            assert_eq!(source.is_none(), PROSE.contains(&field), "{}: {field}: {source:?}", card.key);
        }
        assert_eq!(from_toml(&with_sources(&card)).unwrap(), card);
    }
    let of = |key, field| source_of(key, field).expect("a source");
    assert_eq!(of("h100", "memory_bytes"), "Data sheet: 80 GB HBM3 on 5120 bits, 50 MiB of L2.");
    assert_eq!(of("h100", "clock_mhz"), "from h200: MLPerf system description: 1980 MHz.");
    assert_eq!(of("l4", "launch_us"), "from rtx4090: Estimates.");
    // A figure that a chain of cards takes over names the card that states it.
    assert_eq!(of("a100-80", "l1_clocks"), "from h200: Records of `latency`: a hit in L1.");
    assert_eq!(source_of("mine", "clock_mhz"), None);
}

#[test]
fn cards_with_the_same_link_are_peers() {
    let card = |key| find(key).unwrap();
    let link = PeerLink::between(&card("h200"), &card("h100")).expect("NVLink 4, both of them");
    assert_eq!((link.nvlinks, link.gb_per_s, link.has_atomics()), (18, 397.0, true));
    assert_eq!(PeerLink::between(&card("h200"), &card("v100")), None);
    // The A100s share theirs, and cards without NVLink have none.
    let rates = |key| PeerLink::of(&card(key)).map(|link| (link.nvlinks, link.gb_per_s, link.both_gb_per_s));
    assert_eq!(["a100-40", "a100-80"].map(rates), [Some((12, 262.0, 518.0)); 2]);
    assert_eq!([rates("v100"), rates("b200")], [Some((6, 143.7, 287.4)), Some((18, 794.0, 1568.0))]);
    assert_eq!(["t4", "l4", "rtx4090", "rtx5090", "k40c"].map(rates), [None; 5]);
    assert_eq!(PeerLink::between(&card("c870"), &card("c870")), None);
    let slower = from_toml("extends = \"h200\"\npeer_link_gb_per_s = 395.0").unwrap();
    assert_eq!(PeerLink::between(&slower, &card("h200")), None);
    // Two opposite copies of 1 GiB at once, less the latency: 2 GiB at 784 GB/s.
    let one = link.copy_seconds(1 << 30);
    assert!((one - 6e-6 - 2.704_6e-3).abs() < 1e-7, "{one}");
    let both = (one - 6e-6) * (1.0 + link.contention());
    assert!((both * 784e9 / 2.0_f64.powi(31) - 1.0).abs() < 1e-9, "{both}");
    // 1000 lines read and written: 4 sectors and a packet's header of 14.1 bytes each way.
    let access = PeerAccess {
        sectors_read: 4000,
        packets_read: 1000,
        sectors_stored: 4000,
        packets_stored: 1000,
        packets_masked: 0,
    };
    assert_eq!(link.access_seconds(access), (4000.0 * 35.2 + 1000.0 * 14.1) / 397e9);
    // Masked stores are longer than what comes back.
    let masked = PeerAccess { packets_masked: 1000, ..access };
    assert_eq!(link.access_seconds(masked), (4000.0 * 35.2 + 1000.0 * 13.3 + 1000.0 * 14.1) / 397e9);
}

#[test]
fn a_card_is_printed_with_its_sources() {
    let text = with_sources(&find("h100").unwrap());
    let clock = "\n# from h200: MLPerf system description: 1980 MHz.\nclock_mhz = 1980.0\n\n# from h200: Guide: 32 threads;";
    assert!(text.contains(clock), "{text}");
    let prose = |line: &str| line.starts_with("source = ") || line.starts_with("calibration = ");
    assert!(text.lines().all(|line| prose(line) || line.len() <= 120), "{text}");
    let own = from_toml("extends = \"h100\"").unwrap();
    assert_eq!(with_sources(&own), own.to_toml());
}

#[test]
fn an_unknown_key_names_the_nearest_and_all() {
    let message = find("h20").unwrap_err().to_string();
    assert_eq!(
        message,
        "no card \"h20\" among c870, c1060, gtx280, c2050, m2090, k20x, k40c, v100, \
         t4, rtx3090, a100-40, a100-80, h100, rtx4090, l4, h200, b200, rtx5090; did you mean h200?"
    );
    let message = find("a100_80").unwrap_err().to_string();
    assert!(message.contains("did you mean a100-80 or a100-40?"), "{message}");
    assert_eq!(find("").unwrap_err().keys.len(), 18);
}

#[test]
fn a_card_file_changes_what_it_says() {
    let card =
        from_toml("extends = \"h200\"\n# half of it\nmultiprocessors = 66\ndram_gb_per_s = 2400\n").unwrap();
    let h200 = find("h200").unwrap();
    assert_eq!((card.key.as_str(), card.name.as_str()), ("custom", "NVIDIA H200, changed"));
    assert_eq!((card.multiprocessors, card.dram_gb_per_s), (66, 2400.0));
    assert_eq!(
        Card {
            key: h200.key.clone(),
            name: h200.name.clone(),
            multiprocessors: 132,
            dram_gb_per_s: 4814.304,
            ..card
        },
        h200
    );
    let other =
        from_toml("extends = \"v100\"\nkey = \"titan-v\"\nname = \"TITAN V\"\ncompute_capability = \"7.2\"");
    let other = other.unwrap();
    assert_eq!((other.key.as_str(), other.name.as_str()), ("titan-v", "TITAN V"));
    assert_eq!(other.compute_capability.to_string(), "7.2");
}

#[test]
fn a_chain_follows_the_latencies_that_a_card_states() {
    let h200 = find("h200").unwrap();
    assert_eq!(h200.chain_clocks, [23.0, 32.0, 275.0, 655.0]);
    let nearer = from_toml("extends = \"h200\"\nclock_mhz = 1000\nl2_latency_ns = 100").unwrap();
    assert_eq!(nearer.chain_clocks, [23.0, 32.0, 100.0, 655.0]);
    let stated =
        from_toml("extends = \"h200\"\nl2_latency_ns = 100\nchain_clocks = [1.0, 2.0, 3.0, 4.0]").unwrap();
    assert_eq!(stated.chain_clocks, [1.0, 2.0, 3.0, 4.0]);
    let unknown = from_toml("extends = \"c1060\"\ndram_latency_ns = 100").unwrap();
    assert_eq!(unknown.chain_clocks, [0.0; 4]);
    // 118 and 254 ns at 1590 MHz.
    assert_eq!(find("t4").unwrap().chain_clocks, [23.0, 32.0, 187.62, 403.86]);
    let source = source_of("t4", "chain_clocks").unwrap();
    assert!(source.starts_with("from h200: Records of `latency`"), "{source}");
    assert!(source.ends_with("follow from the latencies that this card states."), "{source}");
}

#[test]
fn every_card_survives_being_printed() {
    for card in all() {
        assert_eq!(from_toml(&card.to_toml()).unwrap(), card);
    }
    let quoted = from_toml("extends = \"h200\"\nname = 'a \"card\" of my own\\'").unwrap();
    assert_eq!(from_toml(&quoted.to_toml()).unwrap(), quoted);
}

#[test]
fn bad_card_files_are_refused_with_the_line_and_the_reason() {
    let refused = |text: &str| from_toml(text).unwrap_err().to_string();
    let after_extends = |line: &str| refused(&format!("# mine\nextends = \"h200\"\n{line}\n"));
    for (line, expected) in [
        ("multiprocessors = 0", "card file, line 3: multiprocessors: 0 is not between 1 and 1024"),
        ("dram_gb_per_s = -1.0", "card file, line 3: dram_gb_per_s: -1 is not above 0"),
        ("dram_gb_per_s = nan", "card file, line 3: dram_gb_per_s: NaN is not above 0"),
        ("clock_mhz = inf", "card file, line 3: clock_mhz: inf is not above 0"),
        ("launch_us = -2", "card file, line 3: launch_us: -2 is not 0 or more"),
        ("warp_threads = 64", "card file, line 3: warp_threads: 64 lanes a warp: all cards have 32"),
        (
            "peer_load_ns = 0.0",
            "card file, line 3: peer_load_ns: a link to peers needs the latency of a load over it",
        ),
        (
            "peer_link_both_gb_per_s = 300.0",
            "card file, line 3: peer_link_both_gb_per_s: 300 GB/s is not between once and twice the 397 GB/s of one direction",
        ),
        ("dram_share = 1.2", "card file, line 3: dram_share: 1.2 is no share above 0 and up to 1"),
        ("dram_granule_bytes = 48", "card file, line 3: dram_granule_bytes: 48 is not 32, 64 or 128"),
        ("dram_page_bytes = 64", "card file, line 3: dram_page_bytes: 64 is not a power of two from 128 on"),
        ("dram_bus_bits = 0", "card file, line 3: dram_bus_bits: 0 bits are not whole bytes"),
        ("key = \"two words\"", "card file, line 3: key: \"two words\" is not a key: write one word"),
        ("memory_bytes = 4096", "card file, line 3: memory_bytes: 4096 bytes are less than 1 MiB"),
        (
            "memory_bytes = 33554432",
            "card file, line 3: l2_bytes: an L2 of 62914560 bytes in front of a memory of 33554432",
        ),
        ("l2_bytes = 0", "card file, line 3: l2_gb_per_s: 9774 GB/s from an L2 of 0 bytes"),
        (
            "dram_partitions = 6",
            "card file, line 3: dram_partitions: from 2.0 on addresses are hashed, which is written 0",
        ),
        (
            "dram_line_weight = 0.9",
            "card file, line 3: dram_page_weight: together with dram_line_weight it passes 1, and nothing is left for granules",
        ),
        ("compute_capability = \"1.3\"", "card file, line 3: l2_bytes: cards of 1.x have no L2"),
    ] {
        assert_eq!(after_extends(line), expected);
    }
    let capability = after_extends("compute_capability = \"4.2\"");
    assert!(
        capability.starts_with(
            "card file, line 3: compute_capability: no NVIDIA card has compute capability 4.2: known are 1.0"
        ),
        "{capability}"
    );
    let extends = refused("\nextends = \"h2000\"");
    assert!(extends.starts_with("card file, line 2: extends: no card \"h2000\" among c870"), "{extends}");
    let unknown = after_extends("multiprocesors = 7");
    assert!(unknown.contains("line 3") && unknown.contains("unknown field `multiprocesors`"), "{unknown}");
    let mistyped = after_extends("multiprocessors = \"many\"");
    assert!(mistyped.contains("line 3") && mistyped.contains("multiprocessors"), "{mistyped}");
    let negative = after_extends("l2_bytes = -1");
    assert!(negative.contains("line 3") && negative.contains("-1"), "{negative}");
    let cut_off = refused("extends = \"h2");
    assert!(cut_off.contains("line 1"), "{cut_off}");
    let missing = refused("key = \"mine\"\nclock_mhz = 1000");
    assert!(
        missing.starts_with("card file: without extends = \"...\" a card needs every value, and lacks compute_capability, name, multiprocessors"),
        "{missing}"
    );
}

fn blocks(capability: &str, threads: u32, registers: u32, shared_bytes: u32) -> (u32, u32, Limiter) {
    let limits = Limits::of(capability.parse().unwrap());
    let occupancy = Occupancy::new(&limits, BlockShape { threads, registers, shared_bytes }).unwrap();
    (occupancy.blocks, occupancy.warps, occupancy.residency.limiter)
}

#[test]
fn occupancy_is_the_calculators() {
    use Limiter::{Blocks, Registers, SharedMemory, Warps};
    for (capability, threads, registers, shared, expected) in [
        // The classic of the first cards: 256 threads run three times with 10 registers and twice with 11.
        ("1.0", 256, 10, 0, (3, 24, Warps)),
        ("1.0", 256, 11, 0, (2, 16, Registers)),
        ("1.3", 256, 16, 0, (4, 32, Warps)),
        ("1.3", 256, 17, 0, (3, 24, Registers)),
        ("1.3", 256, 10, 4224, (3, 24, SharedMemory)),
        ("1.3", 32, 10, 0, (8, 8, Blocks)),
        ("2.0", 256, 20, 0, (6, 48, Warps)),
        ("2.0", 256, 21, 0, (5, 40, Registers)),
        ("2.0", 192, 0, 12 << 10, (4, 24, SharedMemory)),
        ("3.5", 256, 32, 0, (8, 64, Warps)),
        ("3.5", 256, 33, 0, (6, 48, Registers)),
        ("3.5", 128, 32, 0, (16, 64, Warps)),
        ("5.2", 32, 32, 0, (32, 32, Blocks)),
        ("6.0", 1024, 32, 48 << 10, (1, 32, SharedMemory)),
        ("7.0", 256, 32, 0, (8, 64, Warps)),
        ("7.0", 1024, 33, 0, (1, 32, Registers)),
        ("7.0", 128, 255, 0, (2, 8, Registers)),
        ("7.0", 256, 40, 0, (6, 48, Registers)),
        ("7.5", 1024, 64, 0, (1, 32, Warps)),
        ("8.0", 256, 40, 0, (6, 48, Registers)),
        ("8.0", 256, 32, 32 << 10, (4, 32, SharedMemory)),
        ("8.6", 1024, 32, 0, (1, 32, Warps)),
        ("8.6", 256, 32, 48 << 10, (2, 16, SharedMemory)),
        ("8.9", 64, 32, 0, (24, 48, Warps)),
        ("9.0", 256, 32, 0, (8, 64, Warps)),
        ("9.0", 256, 32, 100 << 10, (2, 16, SharedMemory)),
        ("9.0", 256, 32, 227 << 10, (1, 8, SharedMemory)),
        ("9.0", 384, 168, 0, (1, 12, Registers)),
        ("10.0", 256, 32, 0, (8, 64, Warps)),
        ("10.0", 256, 32, 227 << 10, (1, 8, SharedMemory)),
        ("12.0", 64, 32, 0, (24, 48, Warps)),
        ("12.0", 256, 32, 48 << 10, (2, 16, SharedMemory)),
    ] {
        assert_eq!(
            blocks(capability, threads, registers, shared),
            expected,
            "{capability}: {threads} threads, {registers} registers, {shared} bytes"
        );
    }
}

#[test]
fn each_resource_says_how_many_blocks_it_would_hold() {
    let of = |capability: &str, threads, registers, shared_bytes| {
        let limits = Limits::of(capability.parse().unwrap());
        let block = BlockShape { threads, registers, shared_bytes };
        Occupancy::new(&limits, block).unwrap().residency
    };
    let expected = Residency {
        registers: 40,
        shared_bytes: 100 << 10,
        most_warps: 64,
        by_warps: 8,
        by_blocks: 32,
        by_registers: Some(6),
        by_shared_memory: Some(2),
        limiter: Limiter::SharedMemory,
    };
    assert_eq!(of("9.0", 256, 40, 100 << 10), expected);
    let unknown = of("2.0", 192, 0, 0);
    assert_eq!((unknown.by_registers, unknown.by_shared_memory, unknown.by_warps), (None, None, 8));
}

#[test]
fn blocks_that_cannot_run_say_why() {
    let refuse = |capability: &str, threads, registers, shared_bytes| {
        let limits = Limits::of(capability.parse().unwrap());
        Occupancy::new(&limits, BlockShape { threads, registers, shared_bytes }).unwrap_err()
    };
    assert_eq!(refuse("1.3", 1024, 0, 0), OccupancyError::Threads(1024, 512));
    assert_eq!(
        refuse("9.0", 0, 0, 0).to_string(),
        "a block of 0 threads is not possible: this card allows 1 to 1024"
    );
    assert_eq!(refuse("9.0", 1024, 65, 0), OccupancyError::Registers(65));
    assert_eq!(refuse("3.0", 32, 64, 0), OccupancyError::Registers(64));
    assert_eq!(
        refuse("7.0", 32, 32, (96 << 10) + 1).to_string(),
        "a block needs 98305 bytes of shared memory, but this card has 98304"
    );
}

#[test]
fn occupancy_as_a_share() {
    let limits = Limits::of("8.0".parse().unwrap());
    let shape = BlockShape { threads: 256, registers: 40, shared_bytes: 0 };
    assert_eq!(Occupancy::new(&limits, shape).unwrap().share(), 0.75);
}

#[test]
fn cards_execute_as_many_grids_at_once_as_the_guide_says() {
    let of = |capability: &str| Limits::of(capability.parse().unwrap()).grids;
    let capabilities =
        ["1.0", "2.0", "3.0", "3.2", "3.5", "5.3", "6.0", "6.1", "6.2", "7.2", "7.5", "8.6", "9.0"];
    assert_eq!(capabilities.map(of), [1, 16, 16, 4, 32, 16, 128, 32, 16, 16, 128, 128, 128]);
}
